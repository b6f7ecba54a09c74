package mysql

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
)

// A collector restores nothing if it is killed, or if another run still uses the server
// when it ends. The rows that it enabled stay listed in a file. The next collector that
// ends while no other run uses the server restores them, if its journal is in the same
// folder. A collector holds a lock on its file as long as its process lives.

// journal is the file of one collector.
type journal struct {
	folder        string   // empty: no journal is kept
	createdFolder bool     // the folder did not exist before
	file          *os.File // nil: nothing is enabled
}

// entry is the content of the file. It holds no secret.
type entry struct {
	Database string `json:"database"` // DSN without password
	Started  int64  `json:"started"`  // start of the server in unix seconds, by this host's clock
	formerSetup
}

const journalPattern = ".instruments-*.json"

// write writes the entry and syncs it to disk. An empty entry removes the file.
func (j *journal) write(e entry) error {
	if e.empty() {
		return j.remove()
	}
	if j.folder == "" {
		return nil
	}
	data, err := json.Marshal(e)
	if err == nil && j.file == nil {
		err = j.create()
	}
	if err == nil {
		err = overwrite(j.file, data)
	}
	if err != nil {
		return fmt.Errorf("write the journal of instruments: %w", err)
	}
	return nil
}

func overwrite(f *os.File, data []byte) error {
	_, err := f.WriteAt(data, 0)
	return errors.Join(err, f.Truncate(int64(len(data))), f.Sync())
}

func (j *journal) create() (err error) {
	_, err = os.Stat(j.folder)
	j.createdFolder = errors.Is(err, os.ErrNotExist)
	if err := os.MkdirAll(j.folder, 0o755); err != nil {
		return err
	}
	if j.file, err = os.CreateTemp(j.folder, journalPattern); err != nil { // mode 0600
		return err
	}
	return syscall.Flock(int(j.file.Fd()), syscall.LOCK_EX) // waits while another process reads the file
}

// remove removes the file, and the folder if it was created for the file.
func (j *journal) remove() error {
	if j.file == nil {
		return nil
	}
	err := errors.Join(os.Remove(j.file.Name()), j.file.Close())
	j.file = nil
	if j.createdFolder {
		_ = os.Remove(j.folder) // fails if it holds runs by now
	}
	return err
}

// release leaves the file to a later collector.
func (j *journal) release() error {
	if j.file == nil {
		return nil
	}
	err := j.file.Close() // also releases the lock
	j.file = nil
	return err
}

// takeOverAll calls restore with the entry of every file whose process has ended, and
// replaces the entry with the result. An empty result removes the file.
func (j *journal) takeOverAll(restore func(entry) entry) {
	if j.folder == "" {
		return
	}
	all, _ := filepath.Glob(filepath.Join(j.folder, journalPattern)) // the pattern is valid
	for _, path := range all {
		err := takeOver(path, restore)
		if err != nil && !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, os.ErrNotExist) {
			slog.Debug("database collector cannot use the journal of an earlier run", "file", path, "err", err)
		}
	}
}

func takeOver(path string, restore func(entry) entry) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // also releases the lock
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return err
	}
	var e entry
	if err := json.NewDecoder(f).Decode(&e); err != nil {
		return err
	}
	remaining := restore(e)
	if remaining.empty() {
		return os.Remove(path)
	}
	data, err := json.Marshal(remaining)
	if err != nil {
		return err
	}
	return overwrite(f, data)
}
