package stack

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

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
	DBPort     int           // of node a, default DefaultDBPort; those of node b and HAProxy follow it
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

// complete sets missing options from the state, and refuses those that contradict a
// running component: a stack that is up is shared, and may be under load. running: a
// database node runs.
func (o Options) complete(s *State, running bool) (Options, error) {
	differs := func(option string, is, want any) error {
		return fmt.Errorf("the stack is up with %s %v, not %v: run `assay-lab stack down` first", option, is, want)
	}
	if c := s.Cluster; c != nil {
		proxy := c.Proxy != nil
		switch {
		case o.Topology == "":
			o.Topology = c.Topology
		case running && o.Topology != c.Topology:
			return o, differs("topology", c.Topology, o.Topology)
		}
		if running && o.Proxy && !proxy {
			return o, differs("proxy", "none", "HAProxy")
		}
		o.Proxy = o.Proxy || proxy && o.Topology == c.Topology
	}
	if o.Topology == "" {
		o.Topology = Single
	}
	if db := s.Database; db.Port != 0 {
		switch {
		case o.DBPort == 0:
			o.DBPort = db.Port
		case running && o.DBPort != db.Port:
			return o, differs("database port", db.Port, o.DBPort)
		}
		if running && o.Binary.Path != "" && o.Binary != db.Binary {
			return o, differs("database", db.Binary, o.Binary)
		}
		switch {
		case len(o.DBArgs) == 0:
			o.DBArgs = db.Args
		case running && !slices.Equal(o.DBArgs, db.Args):
			return o, differs("database options", db.Args, o.DBArgs)
		}
	}
	if t := s.Target; t.Port != 0 {
		alive := t.Process.Alive()
		switch {
		case o.TargetPort == 0:
			o.TargetPort = t.Port
		case alive && o.TargetPort != t.Port:
			return o, differs("target port", t.Port, o.TargetPort)
		}
		switch {
		case len(o.TargetArgs) == 0:
			o.TargetArgs = t.Args
		case alive && !slices.Equal(o.TargetArgs, t.Args):
			return o, differs("target arguments", t.Args, o.TargetArgs)
		}
	}
	if i := s.Influx; i.Port != 0 {
		switch {
		case o.InfluxPort == 0:
			o.InfluxPort = i.Port
		case i.Process.Alive() && o.InfluxPort != i.Port:
			return o, differs("InfluxDB port", i.Port, o.InfluxPort)
		}
	}
	if o.DBPort == 0 {
		o.DBPort = DefaultDBPort
	}
	if o.InfluxPort == 0 {
		o.InfluxPort = DefaultInfluxPort
	}
	if o.TargetPort == 0 {
		o.TargetPort = DefaultTargetPort
	}
	if o.Executable == "" {
		var err error
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
