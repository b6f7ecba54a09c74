package stack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"assay.dev/assay/internal/localstack"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/servers/mysqld"
	"assay.dev/assay/internal/servers/process"
)

// Parts selects components of the stack.
type Parts = localstack.Parts

// All is the whole stack.
var All = Parts{Database: true, Influx: true, Target: true}

// withPortHint names the command that sets the ports: callers other than `assay-lab stack
// up` cannot set them.
func withPortHint(err error) error {
	if !errors.Is(err, process.ErrPortTaken) {
		return err
	}
	return hint.With(err, "stop the process that listens there (the stack of another folder?), or start the stack on other ports: assay-lab stack up --db-port N --target-port M --influx-port K")
}

// Up ensures that the stack runs with these options. It keeps running components and
// restarts crashed ones. started are the components that it started; it stops them
// again if it fails or ctx ends.
func Up(ctx context.Context, o Options, log *slog.Logger) (_ *State, started Parts, err error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	f, err := at(o.Dir)
	if err != nil {
		return nil, Parts{}, err
	}
	if err := f.checkNew(o); err != nil {
		return nil, Parts{}, withPortHint(err)
	}
	if err := f.make(); err != nil {
		return nil, Parts{}, err
	}
	release, err := f.lock(ctx, log)
	if err != nil {
		return nil, Parts{}, err
	}
	defer release()
	s, err := f.load()
	if err != nil {
		return nil, Parts{}, err
	}
	if s == nil {
		s = newState()
	}
	if err := f.find(s); err != nil {
		return nil, Parts{}, err
	}
	if o, err = o.complete(s, f.running(s)); err != nil {
		return nil, Parts{}, err
	}
	u := &startup{folder: f, options: o, state: s, log: log}
	defer func() {
		if err != nil {
			err = errors.Join(withPortHint(err), u.undo())
		}
	}()
	if err := u.checkInfluxPort(); err != nil {
		return nil, Parts{}, err
	}
	for _, ensure := range []func(context.Context) error{u.ensureDatabase, u.ensureProxy, u.ensureInflux, u.ensureTarget} {
		if err := ensure(ctx); err != nil {
			return nil, Parts{}, err
		}
	}
	return s, u.parts, nil
}

// startup is one Up in progress.
type startup struct {
	folder
	options Options
	state   *State
	log     *slog.Logger
	stops   []func() error // stop the started components, in order of starting
	parts   Parts          // parts that were started
	before  bool           // a database node ran before
}

// undo stops the started components, the last first. It ignores the context of Up,
// whose end may be the reason.
func (u *startup) undo() error {
	var err error
	for i := len(u.stops) - 1; i >= 0; i-- {
		err = errors.Join(err, u.stops[i]())
	}
	if !u.before && !u.running() {
		u.state.Database, u.state.Cluster = Database{}, nil
	}
	if len(u.stops) > 0 || !u.before {
		err = errors.Join(err, u.save(u.state))
	}
	return err
}

// answerPatience limits the health check of a running component, which may be under
// load.
const answerPatience = 10 * time.Second

// checkNew checks that a new stack can start, before anything is written to its folder.
func (f folder) checkNew(o Options) error {
	if files, err := os.ReadDir(f.dir); len(files) > 0 || err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil // it may be up, on these ports
	}
	o, err := o.complete(newState(), false)
	if err != nil {
		return err
	}
	if o.Binary.Path == "" {
		if o.Binary, err = mysqld.Choose(); err != nil {
			return err
		}
	}
	switch {
	case o.DBPort == o.TargetPort:
		return fmt.Errorf("port %d is given for both the database and the reference service", o.DBPort)
	case o.InfluxPort == o.DBPort, o.InfluxPort == o.TargetPort:
		return fmt.Errorf("port %d is given for both InfluxDB and another server", o.InfluxPort)
	}
	if err := (&startup{folder: f, options: o, state: newState()}).checkInfluxPort(); err != nil {
		return err
	}
	c, err := newCluster(o.Topology, o.Binary.Flavour, o.Proxy, o.DBPort, process.FreePort)
	if err != nil {
		return err
	}
	if err := c.checkPrograms(); err != nil {
		return err
	}
	if err := c.checkPorts(); err != nil {
		return err
	}
	return checkTargetPort(o.TargetPort)
}

func checkTargetPort(port int) error {
	if err := process.CheckPort(port); err != nil {
		return fmt.Errorf("start reference service: %w", err)
	}
	return nil
}
