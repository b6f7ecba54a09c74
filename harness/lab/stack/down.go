package stack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"

	"assay/harness/hint"
	"assay/harness/servers/mysqld"
)

// Stop is Down for all parts, unless a run uses the stack.
func Stop(ctx context.Context, dir string) error {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	release, err := Reserve(dir)
	if errors.Is(err, ErrInUse) {
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
	// Not from the state file, which lacks a server whose Up was killed.
	alive := false
	for _, dir := range f.nodes() {
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
