package storage

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// A backup is a checkpoint: a folder named after the moment, with Pebble's files and a mark of its own, so that it does not open as a
// store by mistake. It is written under a name that ends in .tmp and gets its own when it is complete.

// backupLayout names backups, so that their names sort by time.
const backupLayout = "20060102T150405.000Z"

var backupName = regexp.MustCompile(`^\d{8}T\d{6}\.\d{3}Z(-\d+)?(\.tmp)?$`)

// Backup writes a consistent copy of everything visible now to a new folder in parent, which is made if need be, and returns its
// path. Tables are linked, not copied, when parent is on the same file system. Then it removes all but the newest keep backups
// (0: none), and what an earlier run left unfinished. Only one may run at a time for a parent.
func (s *Store) Backup(parent string, at time.Time, keep int) (path string, err error) {
	fs := s.files
	if err := makeFolder(fs, parent); err != nil {
		return "", fmt.Errorf("create %s: %w", parent, err)
	}
	name := at.UTC().Format(backupLayout)
	for n := 2; exists(fs, fs.PathJoin(parent, name)); n++ {
		name = fmt.Sprintf("%s-%d", at.UTC().Format(backupLayout), n)
	}
	path = fs.PathJoin(parent, name)
	if err := s.checkpoint(path + tempSuffix); err != nil {
		return "", err
	}
	if err := errors.Join(fs.Rename(path+tempSuffix, path), syncFolder(fs, parent)); err != nil {
		return "", fmt.Errorf("rename %s: %w", path, err)
	}
	return path, tidyBackups(fs, parent, name, keep)
}

// checkpoint writes the copy to dir. One that was cut short has no mark.
func (s *Store) checkpoint(dir string) error {
	if err := s.files.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove %s: %w", dir, err)
	}
	if err := s.db.Checkpoint(dir, pebble.WithFlushedWAL()); err != nil {
		return fmt.Errorf("checkpoint %s: %w", dir, err)
	}
	if err := mark(s.files, dir, backupText); err != nil {
		return fmt.Errorf("mark %s: %w", dir, err)
	}
	return nil
}

// tidyBackups removes unfinished backups and the oldest of the others, but never the one just made: after a clock was ahead it has not the
// latest name. It touches nothing that has not the name and the mark of one.
func tidyBackups(fs vfs.FS, parent, made string, keep int) error {
	names, err := fs.List(parent)
	if err != nil {
		return fmt.Errorf("list %s: %w", parent, err)
	}
	var old, whole []string
	for _, name := range names {
		switch {
		case !backupName.MatchString(name), name == made:
		case strings.HasSuffix(name, tempSuffix):
			old = append(old, name)
		case isBackup(fs, fs.PathJoin(parent, name)) == nil:
			whole = append(whole, name)
		}
	}
	slices.Sort(whole)
	if keep > 0 && len(whole) >= keep {
		old = append(old, whole[:len(whole)-keep+1]...)
	}
	for _, name := range old {
		if err := fs.RemoveAll(fs.PathJoin(parent, name)); err != nil {
			return fmt.Errorf("remove an old backup: %w", err)
		}
	}
	return nil
}

// isBackup is nil for a folder with the mark of a finished backup.
func isBackup(fs vfs.FS, dir string) error {
	if !exists(fs, fs.PathJoin(dir, markerFile)) {
		return fmt.Errorf("open %s: %w", dir, ErrNoBackup)
	}
	text, err := readFile(fs, dir, markerFile)
	if err != nil {
		return fmt.Errorf("read %s: %w", fs.PathJoin(dir, markerFile), err)
	}
	if number, ok := strings.CutPrefix(text, backupText); ok {
		return checkMarker(dir, markerText+number)
	}
	return fmt.Errorf("open %s: %w", dir, ErrNoBackup)
}

// Restore copies a backup to o.Dir, which must not exist or be empty, and has advance change the copy before it becomes a store: what
// was given out after the backup must not be given out again. A restore that fails or is cut short leaves no store: the work is done beside
// o.Dir, with .restoring behind its name. progress, if any, is told how many of all bytes are copied. Errors: ErrNoBackup, ErrFormat, what
// advance and the disk said.
func Restore(o Options, from string, progress func(done, all int64), advance func(*Store) error) error {
	fs := o.FS
	if fs == nil {
		fs = vfs.Default
	}
	if err := isBackup(fs, from); err != nil {
		return err
	}
	if err := mustBeFree(fs, o.Dir); err != nil {
		return err
	}
	dir := filepath.Clean(o.Dir)
	o.Dir = dir + ".restoring"
	o.MustExist = true
	if err := removeUnfinished(fs, o.Dir); err != nil {
		return fmt.Errorf("restore %s: %w", dir, err)
	}
	if exists(fs, dir) {
		if err := fs.Remove(dir); err != nil { // one that is mounted can't be replaced: to say so need not wait for the copy
			return fmt.Errorf("restore %s: %w", dir, err)
		}
	}
	err := copyStore(fs, from, o.Dir, progress)
	if err == nil {
		err = change(o, advance)
	}
	if err == nil {
		err = errors.Join(fs.Rename(o.Dir, dir), syncFolder(fs, fs.PathDir(dir)))
	}
	if err != nil {
		return fmt.Errorf("restore %s: %w", dir, errors.Join(err, fs.RemoveAll(o.Dir)))
	}
	return nil
}

// storeFile matches the names of what a restore that was cut short may have left.
var storeFile = regexp.MustCompile(`^(CURT|CURT\..*|LOCK|OPTIONS-\d+.*|MANIFEST-\d+|marker\..*|\d+\.(sst|log|blob|dbtmp).*)$`)

// removeUnfinished removes a folder that an earlier restore has left, and refuses when it may be anything else.
func removeUnfinished(fs vfs.FS, dir string) error {
	if !exists(fs, dir) {
		return nil
	}
	if isBackup(fs, dir) == nil {
		return fmt.Errorf("%s is in the way: it is a backup", dir)
	}
	names, err := fs.List(dir)
	if err != nil {
		return fmt.Errorf("list %s: %w", dir, err)
	}
	for _, name := range names {
		if !storeFile.MatchString(name) {
			return fmt.Errorf("%s is in the way: it has %q", dir, name)
		}
	}
	return fs.RemoveAll(dir)
}

func mustBeFree(fs vfs.FS, dir string) error {
	if !exists(fs, dir) {
		return nil
	}
	names, err := fs.List(dir)
	if err != nil {
		return fmt.Errorf("list %s: %w", dir, err)
	}
	if len(names) > 0 {
		return fmt.Errorf("%s is not empty: a backup is restored into a new folder", dir)
	}
	return nil
}

func change(o Options, fn func(*Store) error) error {
	s, err := Open(o)
	if err != nil {
		return err
	}
	return errors.Join(fn(s), s.Close())
}

// copyStore copies the files of a backup and marks the copy as a store.
func copyStore(fs vfs.FS, from, to string, progress func(done, all int64)) error {
	names, err := fs.List(from)
	if err != nil {
		return err
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == markerFile || name == lockFile })
	var done, all int64
	for _, name := range names {
		info, err := fs.Stat(fs.PathJoin(from, name))
		if err != nil {
			return err
		}
		all += info.Size()
	}
	if err := makeFolder(newFiles(fs, false, nil, func() {}), to); err != nil {
		return err
	}
	for _, name := range names {
		n, err := copyFile(fs, fs.PathJoin(from, name), fs.PathJoin(to, name))
		if err != nil {
			return fmt.Errorf("copy %s: %w", name, err)
		}
		if done += n; progress != nil {
			progress(done, all)
		}
	}
	return mark(fs, to, markerText)
}

func copyFile(fs vfs.FS, from, to string) (n int64, err error) {
	source, err := fs.Open(from)
	if err != nil {
		return 0, err
	}
	defer source.Close()
	target, err := fs.Create(to, vfs.WriteCategoryUnspecified)
	if err != nil {
		return 0, err
	}
	n, err = io.Copy(target, source)
	return n, errors.Join(err, target.Sync(), target.Close())
}
