package storage

import (
	"errors"
	"fmt"
	"io"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/wal"
)

// Pebble's log says in each chunk how much of the log is synced, and refuses to open when a part it believes
// synced is damaged. In the weaker sync modes that belief is wrong: a power cut may leave a hole with good
// chunks behind it. So while such a mode writes, a mark lies in the folder; when it is found at open, the
// newest log is cut at its first hole. Older logs are whole: they were synced before the next one began.
// Without the mark a damaged log stays an error, for then acknowledged links are in it.

// markUnsynced leaves the mark.
func markUnsynced(fs vfs.FS, dir string) error {
	return writeFile(fs, dir, unsyncedFile, "the log may end in a hole after a power cut\n")
}

// unmarkUnsynced removes the mark, if there is one.
func unmarkUnsynced(fs vfs.FS, dir string) error {
	err := fs.Remove(fs.PathJoin(dir, unsyncedFile))
	if oserror.IsNotExist(err) {
		return nil
	}
	return errors.Join(err, syncFolder(fs, dir))
}

// repairLog cuts the newest log at its first hole, when the mark allows it. It returns the bytes dropped.
func repairLog(fs vfs.FS, dir string) (dropped int64, err error) {
	if !exists(fs, fs.PathJoin(dir, unsyncedFile)) {
		return 0, nil
	}
	logs, err := wal.Scan(wal.Dir{FS: fs, Dirname: dir})
	if err != nil || len(logs) == 0 {
		return 0, err
	}
	last := logs[len(logs)-1]
	whole, broken, err := wholePart(last)
	if err != nil || !broken {
		return 0, err
	}
	size, err := last.PhysicalSize()
	if err != nil {
		return 0, err
	}
	_, path := last.SegmentLocation(0)
	if err := cutFile(fs, path, whole); err != nil {
		return 0, fmt.Errorf("cut %s: %w", path, err)
	}
	return int64(size) - whole, syncFolder(fs, dir)
}

// wholePart returns the length of the log up to its first damaged record.
func wholePart(log wal.LogicalLog) (n int64, broken bool, err error) {
	r := log.OpenForRead()
	defer func() { err = errors.Join(err, r.Close()) }()
	for {
		_, at, err := r.NextRecord()
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, record.ErrUnexpectedEOF):
			return 0, false, nil // Pebble takes these ends itself
		case errors.Is(err, record.ErrInvalidChunk), errors.Is(err, record.ErrZeroedChunk):
			return at.Physical, true, nil
		case err != nil:
			return 0, false, err
		}
	}
}

// cutFile replaces the file by its first n bytes.
func cutFile(fs vfs.FS, path string, n int64) error {
	from, err := fs.Open(path)
	if err != nil {
		return err
	}
	defer from.Close()
	tmp := path + tempSuffix
	to, err := fs.Create(tmp, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = io.CopyN(to, from, n)
	if err := errors.Join(err, to.Sync(), to.Close()); err != nil {
		return err
	}
	return fs.Rename(tmp, path)
}
