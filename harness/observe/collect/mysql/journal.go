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

// A collector that is killed restores nothing, nor does one that ends while another
// run watches the server. What it has switched on stays in a file, and the next
// collector that ends alone restores it, if its journal is in the same folder. A
// collector holds a lock on its file while its process lives.

// journal is the file of one collector.
type journal struct {
	folder string   // empty: no journal is kept
	made   bool     // the folder did not exist before
	file   *os.File // nil: nothing is switched on
}

// entry is the content of the file. It holds no secret.
type entry struct {
	Database string `json:"database"` // DSN without password
	Started  int64  `json:"started"`  // when the server did, unix seconds by this host's clock
	switched
}

const journalPattern = ".instruments-*.json"

// keep writes the entry, which is on disk when keep returns. An empty entry removes
// the file.
func (j *journal) keep(e entry) error {
	if e.empty() {
		return j.end()
	}
	if j.folder == "" {
		return nil
	}
	data, err := json.Marshal(e)
	if err == nil && j.file == nil {
		err = j.begin()
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

func (j *journal) begin() (err error) {
	_, err = os.Stat(j.folder)
	j.made = errors.Is(err, os.ErrNotExist)
	if err := os.MkdirAll(j.folder, 0o755); err != nil {
		return err
	}
	if j.file, err = os.CreateTemp(j.folder, journalPattern); err != nil { // mode 0600
		return err
	}
	return syscall.Flock(int(j.file.Fd()), syscall.LOCK_EX) // waits for a process that reads it just now
}

// end removes the file, and the folder if it was made for the file alone.
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

// leave keeps the file for another collector, and releases it.
func (j *journal) leave() error {
	if j.file == nil {
		return nil
	}
	err := j.file.Close() // which releases the lock
	j.file = nil
	return err
}

// eachLeft calls restore with the entry of every file whose process has ended, and
// replaces the entry by what restore returns; an empty one removes the file.
func (j *journal) eachLeft(restore func(entry) entry) {
	if j.folder == "" {
		return
	}
	all, _ := filepath.Glob(filepath.Join(j.folder, journalPattern)) // the pattern is valid
	for _, path := range all {
		err := takeOver(path, restore)
		if err != nil && !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, os.ErrNotExist) {
			slog.Debug("database collector cannot use a journal that was left", "file", path, "err", err)
		}
	}
}

func takeOver(path string, restore func(entry) entry) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // which releases the lock
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return err
	}
	var e entry
	if err := json.NewDecoder(f).Decode(&e); err != nil {
		return err
	}
	left := restore(e)
	if left.empty() {
		return os.Remove(path)
	}
	data, err := json.Marshal(left)
	if err != nil {
		return err
	}
	return overwrite(f, data)
}
