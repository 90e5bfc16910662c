package server

import (
	"strings"
	"sync"
	"time"
)

// backups are the state of SAVE and BGSAVE.
type backups struct {
	mu      sync.Mutex // guards the fields below
	running bool
	ended   bool          // the server stops: none begins any more
	since   time.Time     // when the running one began
	last    time.Time     // when the last good one was made, at first when the server started
	took    time.Duration // by the last one; negative: there was none
	failed  bool          // the last one did
	saves   int64         // good ones
	changes uint64        // that the last good one has

	wait sync.WaitGroup // for those that run
}

func (b *backups) start(now time.Time) { b.last, b.took = now, -1 }

// begin reports that a backup may run; done is called at its end.
func (b *backups) begin(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.running || b.ended {
		return false
	}
	b.running, b.since = true, now
	b.wait.Add(1)
	return true
}

func (b *backups) done(now time.Time, changes uint64, err error) {
	defer b.wait.Done()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.running, b.took, b.failed = false, now.Sub(b.since), err != nil
	if err == nil {
		b.last, b.changes = now, changes
		b.saves++
	}
}

// end waits for the one that runs and lets no other begin.
func (b *backups) end() {
	b.mu.Lock()
	b.ended = true
	b.mu.Unlock()
	b.wait.Wait()
}

// Backup writes a backup to the backup folder and returns when it is complete. One runs at a time: false says that another does.
func (s *Server) Backup() (began bool, err error) {
	if !s.backups.begin(s.now()) {
		return false, nil
	}
	return true, s.backup()
}

// backup is a backup after begin. Visits that were counted go with it.
func (s *Server) backup() (err error) {
	changes := s.store.Changes()
	defer func() { s.backups.done(s.now(), changes, err) }()
	path, err := "", s.links.MergeClicks(0)
	if err == nil {
		changes = s.store.Changes()
		path, err = s.store.Backup(s.opts.BackupDir, s.now(), s.opts.BackupsKept)
	}
	if err != nil {
		s.log.Error("backup", "err", err)
		return err
	}
	s.log.Info("backup", "folder", path)
	return nil
}

const (
	errSaving replyError = "ERR Background save already in progress"
	errSave   replyError = "ERR the backup failed, the log says why"
)

func backupCommands() []*command {
	const flags = flagAdmin
	return []*command{{
		name: "save", arity: 1, flags: flags | flagNoMulti, group: "server", since: "0.1.0", complexity: "O(N) with N the number of files",
		summary: "Makes a backup in the backup folder, and answers when it is complete. Reads and writes of others go on meanwhile",
		reply:   "OK. -" + string(errSaving) + ", -MISCONF when the disk is nearly full",
		run:     save,
	}, {
		name: "bgsave", arity: -1, flags: flags, group: "server", since: "0.1.0", complexity: "O(N) with N the number of files",
		syntax:  "[SCHEDULE]",
		summary: "Begins to make a backup in the backup folder. INFO says what came of it",
		reply:   "Background saving started, in a transaction Background saving scheduled. -" + string(errSaving) + ", -MISCONF when the disk is nearly full",
		run:     bgsave,
	}, {
		name: "lastsave", arity: 1, flags: serverFlags | flagFast | flagAdmin, group: "server", since: "0.1.0", complexity: "O(1)",
		summary: "Returns when the last backup was complete, at first when the server started",
		reply:   "integer: unix time in seconds",
		run:     lastsave,
	}}
}

func save(c *call) error {
	if c.store.DiskLow() {
		return errDiskLow
	}
	switch began, err := c.Backup(); {
	case !began:
		return errSaving
	case err != nil:
		return errSave
	}
	return c.ok(nil)
}

func bgsave(c *call) error {
	if len(c.args) > 2 || len(c.args) == 2 && !equalFold(c.args[1], "schedule") {
		return errSyntax
	}
	if c.store.DiskLow() {
		return errDiskLow
	}
	if !c.backups.begin(c.now()) {
		return errSaving
	}
	go c.Server.backup() //nolint:errcheck // it is logged, and INFO shows it
	if c.tx != nil {
		c.w.SimpleString("Background saving scheduled")
	} else {
		c.w.SimpleString("Background saving started")
	}
	return nil
}

func lastsave(c *call) error {
	c.backups.mu.Lock()
	defer c.backups.mu.Unlock()
	c.w.Int(c.backups.last.Unix())
	return nil
}

func (s *Server) infoPersistence(b *strings.Builder) {
	s.backups.mu.Lock()
	defer s.backups.mu.Unlock()
	p := &s.backups
	status := "ok"
	if p.failed {
		status = "err"
	}
	current := int64(-1)
	if p.running {
		current = int64(s.now().Sub(p.since).Seconds())
	}
	took := int64(-1)
	if p.took >= 0 {
		took = int64(p.took.Seconds())
	}
	line(b, "loading", 0)
	line(b, "async_loading", 0)
	line(b, "rdb_changes_since_last_save", s.store.Changes()-p.changes)
	line(b, "rdb_bgsave_in_progress", truth(p.running))
	line(b, "rdb_last_save_time", p.last.Unix())
	line(b, "rdb_last_bgsave_status", status)
	line(b, "rdb_last_bgsave_time_sec", took)
	line(b, "rdb_current_bgsave_time_sec", current)
	line(b, "rdb_saves", p.saves)
	line(b, "aof_enabled", 1)
	line(b, "aof_last_write_status", "ok")
}
