package stack

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"time"

	"github.com/gofrs/flock"

	"assay.dev/assay/internal/localstack"
	"assay.dev/assay/internal/servers/mysqld"
)

// Defaults of Options. The ports differ from those of system instances.
const (
	DefaultDir        = localstack.DefaultDir
	DefaultDBPort     = 13306
	DefaultTargetPort = 18080
	DefaultInfluxPort = 18086
)

// Options describe a stack. Zero fields take the value of a stack that is already
// up, or else the default.
type Options struct {
	Dir        string        // default DefaultDir
	Topology   Topology      // default Single
	Proxy      bool          // HAProxy before the database nodes, which the reference service then uses
	Binary     mysqld.Binary // default: the one that created the data, else mysqld.Choose
	DBPort     int           // port of node a, default DefaultDBPort; the ports of node b and HAProxy follow it
	TargetPort int           // default DefaultTargetPort
	InfluxPort int           // default DefaultInfluxPort
	Influxd    string        // the InfluxDB program; default: influxd.Find, else the one used before; without one there is no InfluxDB
	DBArgs     []string      // further options of the database server
	TargetArgs []string      // further arguments of the reference service
	Executable string        // the program to run as `assay-lab target`; default this program
}

// folder is the paths of a stack.
type folder struct{ dir string }

func (f folder) state() string     { return filepath.Join(f.dir, "stack.json") }
func (f folder) lockFile() string  { return filepath.Join(f.dir, "stack.lock") }
func (f folder) database() string  { return filepath.Join(f.dir, "db") }
func (f folder) influx() string    { return filepath.Join(f.dir, "influxdb") }
func (f folder) logs() string      { return filepath.Join(f.dir, "log") }
func (f folder) targetLog() string { return filepath.Join(f.dir, "log", "target.log") }

func at(dir string) (folder, error) {
	if dir == "" {
		dir = DefaultDir
	}
	dir, err := filepath.Abs(dir)
	return folder{dir}, err
}

// make creates the folder. As it holds passwords, it is closed to other users and
// ignored by git.
func (f folder) make() error {
	if err := os.MkdirAll(f.logs(), 0o700); err != nil {
		return fmt.Errorf("make stack folder: %w", err)
	}
	ignore, err := os.OpenFile(filepath.Join(f.dir, ".gitignore"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if os.IsExist(err) {
		return nil
	}
	if err == nil {
		_, err = ignore.WriteString("*\n")
		_ = ignore.Close()
	}
	if err != nil {
		return fmt.Errorf("make stack folder: %w", err)
	}
	return nil
}

// Server is the database server that Up starts in dir by default.
func Server(dir string) (mysqld.Binary, error) {
	f, err := at(dir)
	if err != nil {
		return mysqld.Binary{}, err
	}
	return mysqld.ChooseFor(f.database())
}

// adopt takes the value of a component for an option that is not given (none), and refuses
// another one while the component is up.
func adopt[T any](option string, given *T, none bool, is T, up bool) error {
	if none {
		*given = is
		return nil
	}
	if up && !reflect.DeepEqual(*given, is) {
		return fmt.Errorf("the stack is up with %s %v, not %v: run `assay-lab stack down` first", option, is, *given)
	}
	return nil
}

// complete sets missing options from the state, and refuses those that contradict a
// running component: a stack that is up is shared, and may be under load. running: a
// database node runs.
func (o Options) complete(s *State, running bool) (Options, error) {
	var err error
	if c := s.Cluster; c != nil {
		err = adopt("topology", &o.Topology, o.Topology == "", c.Topology, running)
		if c.Proxy == nil && o.Proxy && running {
			proxy := "HAProxy"
			err = cmp.Or(err, adopt("proxy", &proxy, false, "none", true))
		}
		o.Proxy = o.Proxy || c.Proxy != nil && o.Topology == c.Topology
	}
	if db := s.Database; db.Port != 0 {
		err = cmp.Or(err, adopt("database port", &o.DBPort, o.DBPort == 0, db.Port, running))
		if o.Binary.Path != "" {
			err = cmp.Or(err, adopt("database", &o.Binary, false, db.Binary, running))
		}
		err = cmp.Or(err, adopt("database options", &o.DBArgs, len(o.DBArgs) == 0, db.Args, running))
	}
	if t := s.Target; t.Port != 0 {
		alive := t.Process.Alive()
		err = cmp.Or(err, adopt("target port", &o.TargetPort, o.TargetPort == 0, t.Port, alive),
			adopt("target arguments", &o.TargetArgs, len(o.TargetArgs) == 0, t.Args, alive))
	}
	if i := s.Influx; i.Port != 0 {
		err = cmp.Or(err, adopt("InfluxDB port", &o.InfluxPort, o.InfluxPort == 0, i.Port, i.Process.Alive()))
	}
	if err != nil {
		return o, err
	}
	o.Topology = cmp.Or(o.Topology, Single)
	o.DBPort, o.InfluxPort, o.TargetPort = cmp.Or(o.DBPort, DefaultDBPort), cmp.Or(o.InfluxPort, DefaultInfluxPort), cmp.Or(o.TargetPort, DefaultTargetPort)
	if o.Executable == "" {
		if o.Executable, err = os.Executable(); err != nil {
			return o, fmt.Errorf("find assay-lab: %w", err)
		}
	}
	// Checked before the database is started, which takes seconds.
	if _, err := exec.LookPath(o.Executable); err != nil {
		return o, fmt.Errorf("find assay-lab: %w", err)
	}
	return o, nil
}

// lock locks the stack against other commands until the returned function is
// called, or this process ends. It waits for another command to finish.
func (f folder) lock(ctx context.Context, log *slog.Logger) (release func(), err error) {
	lock := flock.New(f.lockFile())
	locked, err := lock.TryLock()
	if err == nil && !locked {
		log.Info("waiting for another stack command on this folder", "dir", f.dir)
		_, err = lock.TryLockContext(ctx, 100*time.Millisecond)
	}
	if err != nil {
		return nil, fmt.Errorf("lock stack: %w", cmp.Or(context.Cause(ctx), err))
	}
	return func() { _ = lock.Unlock() }, nil
}
