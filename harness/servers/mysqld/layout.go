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

	"assay/harness/servers/process"
)

// layout is where a server keeps its things below its folder.
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

// unborn is the prefix of a folder that is being initialised.
const unborn = "init-"

func (l layout) make() error {
	for _, dir := range []string{l.dir, filepath.Dir(l.log()), l.tmp(), l.run()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("make server folder: %w", err)
		}
	}
	return nil
}

// sweep removes what an initialisation that was killed left behind.
func (l layout) sweep() error {
	entries, err := os.ReadDir(l.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), unborn) {
			if err := os.RemoveAll(filepath.Join(l.dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// clear removes what a killed server left in its run folder. We hold the lock,
// so nobody uses it; but MySQL refuses to start when the pid in its old socket
// lock file exists, be it a zombie or by now somebody else's.
func (l layout) clear() error {
	for _, name := range []string{"server.sock", "server.sock.lock", "server.pid", "server.json"} {
		if err := os.Remove(filepath.Join(l.run(), name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("clear run folder: %w", err)
		}
	}
	return nil
}

// account is what a data folder was made with: by whom, and the key to it.
type account struct {
	Binary   Binary `json:"binary"`
	Password string `json:"password"`
}

// running is the server that was last started on a folder.
type running struct {
	Process process.Identity `json:"process"`
	Port    int              `json:"port"`
	Binary  Binary           `json:"binary"`
}

// ErrRunning says that a server already runs on the folder; Attach reaches it.
var ErrRunning = errors.New("a database server already runs there")

// takeLock locks the folder. The lock belongs to the open file, which the
// server inherits: it is held for exactly as long as anybody works on the
// folder, whoever of us dies first, and no stale one can remain.
func (l layout) takeLock() (*os.File, error) {
	f, err := os.OpenFile(l.lock(), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock server folder: %w", err)
	}
	for end := time.Now().Add(lockPatience); ; time.Sleep(pingEvery) {
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

// lockPatience is for a server that was just killed: until the kernel has freed
// its memory, its files stay open.
const lockPatience = 2 * time.Second

func exists(path string) (bool, error) {
	_, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
