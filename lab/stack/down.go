package stack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"assay.dev/assay/internal/localstack"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/servers/mysqld"
	"assay.dev/assay/internal/servers/mysqld/replication"
)

// Stop is Down for all parts, unless a run uses the stack.
func Stop(ctx context.Context, dir string) error {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	release, err := localstack.Reserve(dir)
	if errors.Is(err, localstack.ErrInUse) {
		return hint.With(errors.New("a run uses the local stack"), "wait until it has ended, or interrupt it with Ctrl-C, and stop the stack then")
	}
	if err != nil {
		return err
	}
	defer release()
	return Down(ctx, dir, All)
}

// Down stops parts of the stack of a folder: the service drains, then InfluxDB and
// the database shut down; each is killed after a timeout. Data, users and logs are kept.
// Parts that do not run are ignored. ctx only bounds the wait for another stack command.
func Down(ctx context.Context, dir string, which Parts) error {
	f, err := at(dir)
	if err != nil {
		return err
	}
	if _, err := os.Stat(f.dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	release, err := f.lock(ctx, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer release()
	s, err := f.load()
	if err != nil {
		return err
	}
	if s != nil && which.Target {
		// On an error too it has ended, if it could be killed.
		err = s.Target.Process.Stop(targetPatience)
		if !s.Target.Process.Alive() {
			s.Target = Target{}
		}
	}
	if which.Influx {
		err = errors.Join(err, stopInflux(f, s))
	}
	if which.Database {
		err = errors.Join(err, stopDatabase(f, s))
	}
	if s != nil {
		err = errors.Join(err, f.save(s))
	}
	return err
}

func stopDatabase(f folder, s *State) error {
	// A node that is cut off could not leave its group.
	if err := f.uncut(""); err != nil {
		return fmt.Errorf("stop database: %w", err)
	}
	var err error
	for _, d := range f.daemons() {
		err = errors.Join(err, d.stop())
	}
	var stuck map[string]bool
	if s != nil && s.Cluster != nil && s.Cluster.Kind == replication.Group {
		stuck = (&nodes{folder: f, cluster: s.Cluster}).settle()
	}
	// Not from the state file, which lacks a server whose Up was killed.
	alive := false
	for _, dir := range f.nodes() {
		if stuck[dir] {
			err = errors.Join(err, endServer(dir, true))
		}
		server, unknown := mysqld.Attach(dir)
		switch {
		case errors.Is(unknown, fs.ErrNotExist):
		case unknown != nil:
			err = errors.Join(err, fmt.Errorf("stop database: %w", unknown))
			alive = true
		default:
			err = errors.Join(err, server.Stop())
			alive = alive || server.Alive()
		}
	}
	if s != nil && !alive {
		s.Database, s.Cluster = Database{}, nil
	}
	return err
}

// settlePatience is longer than a group takes to expel a lost member: 10 s.
const settlePatience = 25 * time.Second

// settle waits until a group of Group Replication has expelled the members that do not
// run: a member that leaves before would take the majority with it, and the others could
// not shut down. It returns the folders of nodes that are already in that state. They can
// only be killed, as after a crash they recover.
func (c *nodes) settle() map[string]bool {
	stuck := map[string]bool{}
	for end := time.Now().Add(settlePatience); ; time.Sleep(200 * time.Millisecond) {
		clear(stuck)
		running, settled := 0, true
		var states []replication.State
		for i := range c.cluster.Nodes {
			n := &c.cluster.Nodes[i]
			if !c.alive(n) {
				continue
			}
			running++
			s, err := c.state(context.Background(), n)
			if err != nil || !s.Quorum && !s.Outside {
				stuck[c.dir(n)] = true
				continue
			}
			states = append(states, s)
		}
		for _, s := range states {
			settled = settled && (s.Outside || s.Members <= running)
		}
		// A node that was just cut off comes back by itself.
		if settled && (len(stuck) == 0 || len(states) == 0) || time.Now().After(end) {
			return stuck
		}
	}
}
