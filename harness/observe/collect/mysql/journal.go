package mysql

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"syscall"

	"assay/harness/observe/database"
)

// A collector that is killed (kill -9) restores nothing. What it had promised
// stays in a file, as long as the promise stands, and the next run that is
// started in that folder inherits it as it does that of a run beside it. The
// file is locked by the process that it is of: one that anybody can lock is of a
// process that is gone.

// journal is the file of one collector.
type journal struct {
	folder string   // empty: none is kept
	made   bool     // the folder was not there
	file   *os.File // nil: nothing is promised
}

// kept is what the file holds. There is no secret in it.
type kept struct {
	Database string `json:"database"` // DSN without password
	Promise  string `json:"promise"`
}

const journalPattern = ".instruments-*.json"

// keep writes a promise down. It is on disk when keep returns.
func (j *journal) keep(k kept) error {
	if j.folder == "" {
		return nil
	}
	data, err := json.Marshal(k)
	if err == nil && j.file == nil {
		err = j.begin()
	}
	if err == nil {
		_, err = j.file.WriteAt(data, 0)
	}
	if err == nil {
		err = errors.Join(j.file.Truncate(int64(len(data))), j.file.Sync())
	}
	if err != nil {
		return fmt.Errorf("keep what has to be restored: %w", err)
	}
	return nil
}

func (j *journal) begin() (err error) {
	_, err = os.Stat(j.folder)
	j.made = errors.Is(err, os.ErrNotExist)
	if err := os.MkdirAll(j.folder, 0o755); err != nil {
		return err
	}
	if j.file, err = os.CreateTemp(j.folder, journalPattern); err != nil { // mode 0600
		return err
	}
	return syscall.Flock(int(j.file.Fd()), syscall.LOCK_EX) // another may just look
}

// end removes the file, and the folder that was made for it alone: everything is
// restored.
func (j *journal) end() error {
	if j.file == nil {
		return nil
	}
	err := errors.Join(os.Remove(j.file.Name()), j.file.Close())
	j.file = nil
	if j.made {
		_ = os.Remove(j.folder) // where there are runs in it, it stays
	}
	return err
}

// left are the promises of collectors of the database that were killed, by
// checksum, for each of their files, which may go once its promises are kept elsewhere.
func (j *journal) left(dsn string) map[string]map[uint32]byte {
	files := map[string]map[uint32]byte{}
	if j.folder == "" {
		return files
	}
	all, _ := filepath.Glob(filepath.Join(j.folder, journalPattern)) // the pattern is a good one
	for _, path := range all {
		k, err := ofDead(path)
		switch {
		case errors.Is(err, syscall.EWOULDBLOCK), errors.Is(err, os.ErrNotExist):
		case err != nil:
			slog.Debug("database collector cannot read what was left", "file", path, "err", err)
		case k.Database == database.Public(dsn):
			files[path] = map[uint32]byte{}
			readPromise(k.Promise, files[path])
		}
	}
	return files
}

// ofDead reads the file of a process that is gone.
func ofDead(path string) (k kept, err error) {
	f, err := os.Open(path)
	if err != nil {
		return k, err
	}
	defer func() { _ = f.Close() }() // which releases the lock
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return k, err
	}
	return k, json.NewDecoder(f).Decode(&k)
}

// inheritLeft takes over what collectors have left that were killed, and tells
// the files that may go once it is kept.
func (c *Collector) inheritLeft(into map[uint32]byte) map[string]map[uint32]byte {
	files := c.journal.left(c.dsn)
	for _, promised := range files {
		maps.Copy(into, promised)
	}
	return files
}

// kept writes down what this collector has promised by now.
func (c *Collector) kept() error {
	if c.switched.empty() {
		return nil
	}
	return c.journal.keep(kept{database.Public(c.dsn), c.switched.promise()})
}
