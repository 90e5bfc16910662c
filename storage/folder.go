package storage

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// A data folder holds Pebble's files and CURT, which says whose it is and in what format: the line
// "curt store 1", in a backup "curt backup 1" (backup.go). CURT.unsynced is there while a weaker sync mode writes the log (repair.go).
const (
	markerFile   = "CURT"
	markerText   = "curt store "
	backupText   = "curt backup "
	unsyncedFile = "CURT.unsynced"
	lockFile     = "LOCK"
	tempSuffix   = ".tmp"

	// formatVersion grows with every change an older version could not read, Pebble's own included.
	formatVersion = 1
)

// openFolder creates dir if need be and may, locks it and makes sure that it is ours.
func openFolder(fs vfs.FS, dir string, mustExist bool) (*pebble.Lock, error) {
	if mustExist && !exists(fs, dir) {
		return nil, fmt.Errorf("open %s: %w", dir, ErrNoStore)
	}
	if err := makeFolder(fs, dir); err != nil {
		return nil, fmt.Errorf("create %s: %w", dir, err)
	}
	marked, err := readMarker(fs, dir)
	if err != nil {
		return nil, err
	}
	if mustExist && !marked {
		return nil, fmt.Errorf("open %s: %w", dir, ErrNoStore)
	}
	lock, err := pebble.LockDirectory(dir, fs)
	if isLocked(err) {
		return nil, fmt.Errorf("open %s: %w", dir, ErrLocked)
	} else if err != nil {
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	if !marked {
		err = mark(fs, dir, markerText)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("mark %s: %w", dir, err), lock.Close())
	}
	return lock, nil
}

// isLocked knows the two ways in which Pebble says that the lock is held.
func isLocked(err error) bool {
	return errors.Is(err, syscall.EAGAIN) ||
		err != nil && strings.Contains(err.Error(), "lock held by current process")
}

// readMarker says whether dir is a store already: true with our marker, false when it is empty.
func readMarker(fs vfs.FS, dir string) (bool, error) {
	names, err := fs.List(dir)
	if err != nil {
		return false, fmt.Errorf("list %s: %w", dir, err)
	}
	if !slices.Contains(names, markerFile) {
		for _, name := range names {
			if name != lockFile && name != markerFile+tempSuffix && name != "lost+found" {
				return false, fmt.Errorf("open %s: %w (it has %q)", dir, ErrForeign, name)
			}
		}
		return false, nil
	}
	text, err := readFile(fs, dir, markerFile)
	if err != nil {
		return false, fmt.Errorf("read %s: %w", fs.PathJoin(dir, markerFile), err)
	}
	if err := checkMarker(dir, text); err != nil {
		return true, err
	}
	return true, checkManifest(dir, names)
}

// manifestMarker begins the name of the file by which Pebble finds its manifest. It is made before the first log and is never missing since.
const manifestMarker = "marker.manifest."

// checkManifest refuses tables and logs that no manifest is there for.
func checkManifest(dir string, names []string) error {
	if slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, manifestMarker) }) {
		return nil
	}
	for _, name := range names {
		if strings.HasSuffix(name, ".sst") || strings.HasSuffix(name, ".log") {
			return fmt.Errorf("open %s: %w (it has %s and no %s*)", dir, ErrIncomplete, name, manifestMarker)
		}
	}
	return nil
}

// mark says in dir what it holds.
func mark(fs vfs.FS, dir, what string) error {
	return writeFile(fs, dir, markerFile, what+strconv.Itoa(formatVersion)+"\n")
}

func checkMarker(dir, text string) error {
	if strings.HasPrefix(text, backupText) {
		return fmt.Errorf("open %s: %w", dir, ErrBackup)
	}
	number, ok := strings.CutPrefix(text, markerText)
	v, err := strconv.ParseUint(strings.TrimSuffix(number, "\n"), 10, 32)
	if !ok || err != nil {
		return fmt.Errorf("open %s: %w (its file %s is not ours)", dir, ErrForeign, markerFile)
	}
	return checkFormat(dir, v)
}

func checkFormat(dir string, v uint64) error {
	if v != formatVersion {
		return fmt.Errorf("open %s: %w: it has %d, this version knows %d", dir, ErrFormat, v, formatVersion)
	}
	return nil
}

// makeFolder creates dir and its parents and syncs every folder that got a new entry.
func makeFolder(fs vfs.FS, dir string) error {
	grown := []string{}
	for d := dir; !exists(fs, d); {
		d = fs.PathDir(d)
		grown = append(grown, d)
		if d == fs.PathDir(d) {
			break
		}
	}
	if err := fs.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, d := range grown {
		if err := syncFolder(fs, d); err != nil {
			return err
		}
	}
	return nil
}

func exists(fs vfs.FS, path string) bool {
	_, err := fs.Stat(path)
	return !oserror.IsNotExist(err)
}

func syncFolder(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func readFile(fs vfs.FS, dir, name string) (string, error) {
	f, err := fs.Open(fs.PathJoin(dir, name))
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(f, 1<<10))
	return string(text), errors.Join(err, f.Close())
}

// writeFile writes a small file so that it is there as a whole or not at all.
func writeFile(fs vfs.FS, dir, name, text string) error {
	path := fs.PathJoin(dir, name)
	tmp := path + tempSuffix
	f, err := fs.Create(tmp, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write([]byte(text))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := fs.Rename(tmp, path); err != nil {
		return err
	}
	return syncFolder(fs, dir)
}
