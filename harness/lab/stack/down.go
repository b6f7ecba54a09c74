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
	// Not from the state file, which lacks a server whose Up was killed.
	server, err := mysqld.Attach(f.database())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	case err != nil:
		return fmt.Errorf("stop database: %w", err)
	default:
		err = server.Stop()
		if server.Alive() {
			return err
		}
	}
	if s != nil {
		s.Database = Database{}
	}
	return err
}
