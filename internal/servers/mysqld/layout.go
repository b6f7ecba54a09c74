package mysqld

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"assay.dev/assay/internal/servers/process"
)

// layout is the paths of a server below its folder.
type layout struct{ dir string }

func (l layout) data() string    { return filepath.Join(l.dir, "data") }
func (l layout) log() string     { return filepath.Join(l.dir, "log", "server.log") }
func (l layout) tmp() string     { return filepath.Join(l.dir, "tmp") }
func (l layout) run() string     { return filepath.Join(l.dir, "run") }
func (l layout) pid() string     { return filepath.Join(l.dir, "run", "server.pid") }
func (l layout) running() string { return filepath.Join(l.dir, "run", "server.json") }
func (l layout) account() string { return filepath.Join(l.dir, "account.json") }
func (l layout) lock() string    { return filepath.Join(l.dir, "lock") }

// socket is relative to the data folder, into which both flavours change before
// they bind: an absolute path of more than 107 bytes does not fit into a unix
// socket address, and test folders are easily that deep.
func (l layout) socket() string { return filepath.Join("..", "run", "server.sock") }

// stagingPrefix begins the name of the directory in which a data folder is
// initialised.
const stagingPrefix = "init-"

func (l layout) make() error {
	for _, dir := range []string{l.dir, filepath.Dir(l.log()), l.tmp(), l.run()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("make server folder: %w", err)
		}
	}
	return nil
}

// removeStaging removes the staging directories of initialisations that were killed.
func (l layout) removeStaging() error {
	entries, err := os.ReadDir(l.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), stagingPrefix) {
			if err := os.RemoveAll(filepath.Join(l.dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeStale removes the files of a killed server from its run folder. The caller holds
// the lock, so no server uses them; but MySQL refuses to start if the pid in its
// old socket lock file exists, even as a zombie or of another program.
func (l layout) removeStale() error {
	for _, name := range []string{"server.sock", "server.sock.lock", "server.pid", "server.json"} {
		if err := os.Remove(filepath.Join(l.run(), name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove stale files: %w", err)
		}
	}
	return nil
}

// account is the file with the server that initialised a data folder and root's
// password.
type account struct {
	Binary   Binary `json:"binary"`
	Password string `json:"password"`
}

// running is the file with the server that was last started on a folder.
type running struct {
	Process process.Identity `json:"process"`
	Port    int              `json:"port"`
	Binary  Binary           `json:"binary"`
}

// ErrRunning: a server already runs on the folder; Attach returns it.
var ErrRunning = errors.New("a database server already runs there")

// takeLock locks the folder. The lock belongs to the open file, which the server
// inherits: it is held as long as this process or the server works on the folder,
// in whatever order they end, and cannot become stale.
func (l layout) takeLock() (*os.File, error) {
	f, err := os.OpenFile(l.lock(), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock server folder: %w", err)
	}
	for end := time.Now().Add(lockTimeout); ; time.Sleep(lockEvery) {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return f, nil
		case !errors.Is(err, syscall.EWOULDBLOCK):
			_ = f.Close()
			return nil, fmt.Errorf("lock server folder: %w", err)
		case time.Now().After(end):
			_ = f.Close()
			return nil, fmt.Errorf("start in %s: %w", l.dir, ErrRunning)
		}
	}
}

const (
	// lockTimeout allows for a server that was just killed, whose files stay open until
	// the kernel has freed its memory.
	lockTimeout = 2 * time.Second
	lockEvery   = 50 * time.Millisecond
)

func exists(path string) (bool, error) {
	_, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
