package change

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"assay/harness/hint"
	"assay/harness/lab/experiment/journal"
	"assay/harness/lab/stack"
	"assay/harness/observe/collect/databases"
	"assay/harness/observe/database"
	"assay/harness/spec"
)

// World is the system to which variants are applied.
type World struct {
	Journal    *journal.Journal
	Dir        string // the local stack's folder; empty: the system is elsewhere
	DSN        string // of the database elsewhere, by a user who may change it; a secret
	Executable string // this program
	Log        *slog.Logger

	needs   needs // of all variants together
	setup   *stack.Setup
	readers *readers
	read    Read // by the readers that were stopped last
}

// Begin begins the world's journal, in a folder that the caller has occupied.
// target is the base URL of a system elsewhere.
func (w *World) Begin(dir, experiment, target string, at time.Time) {
	w.Journal = journal.New(dir, journal.Content{Experiment: experiment, Started: at, Target: target, Database: databases.Public(w.DSN)})
}

// needs says what is restarted before each run: where one variant runs on a server
// that was just started, all variants do, or they would differ in that as well.
type needs struct{ database, service bool }

// Prepare finds what the variants need, before one is applied.
func (w *World) Prepare(ctx context.Context, variants []spec.Variant) error {
	var database bool
	for _, v := range variants {
		w.needs.database = w.needs.database || len(v.Database) > 0
		w.needs.service = w.needs.service || len(v.Service) > 0
		database = database || v.NeedsDatabase()
	}
	if w.Dir != "" {
		s, _, err := stack.Status(w.Dir)
		if err != nil {
			return err
		}
		setup := s.Setup()
		w.setup = &setup
	}
	if !database {
		return nil
	}
	return w.onDatabase(ctx, func(c connection) error {
		for _, v := range variants {
			if err := c.settable(ctx, v.Global); err != nil {
				return fmt.Errorf("variant %s: %w", v.Name, err)
			}
			if v.Readers > 0 {
				if err := c.checkBinlog(ctx); err != nil {
					return fmt.Errorf("variant %s: %w", v.Name, err)
				}
			}
		}
		return nil
	})
}

// Apply applies a variant. Changes that it made before it failed, or before ctx was
// done, are in the journal: call Close.
func (w *World) Apply(ctx context.Context, v spec.Variant) error {
	for _, step := range []func(context.Context, spec.Variant) error{w.restart, w.globals, w.statements, w.command, w.startReading} {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := step(ctx, v); err != nil {
			return fmt.Errorf("put variant %s in place: %w", v.Name, err)
		}
	}
	return nil
}

// restart restarts server and service, where any variant has options for them. The
// journal says once that their options have to be reverted: each run only replaces
// one variant's options by another's.
func (w *World) restart(ctx context.Context, v spec.Variant) error {
	if !w.needs.database && !w.needs.service {
		return nil
	}
	written := slices.ContainsFunc(w.Journal.Steps, func(s journal.Step) bool { return s.Stack != nil })
	if !written {
		if err := w.Journal.Add(journal.Step{Stack: &journal.Restart{Setup: *w.setup, Database: w.needs.database}}); err != nil {
			return err
		}
	}
	to := *w.setup
	to.Database = slices.Concat(to.Database, v.Database)
	to.Target = slices.Concat(to.Target, v.Service)
	_, err := stack.Restart(ctx, w.options(), to, w.needs.database, w.Log)
	return err
}

func (w *World) options() stack.Options { return stack.Options{Dir: w.Dir, Executable: w.Executable} }

func (w *World) globals(ctx context.Context, v spec.Variant) error {
	if len(v.Global) == 0 {
		return nil
	}
	return w.onDatabase(ctx, func(c connection) error {
		was, err := c.globals(ctx, v.Global)
		if err != nil {
			return err
		}
		for i, g := range was {
			if err := w.Journal.Add(journal.Step{Variant: v.Name, Statements: []string{g.set(g.was)}}); err != nil {
				return err
			}
			if err := c.exec(ctx, g.set(v.Global[i].Value)); err != nil {
				return w.removeRefused(c, err)
			}
		}
		return nil
	})
}

// removeRefused removes the last step from the journal if the server has refused the
// change as a whole: there is nothing to undo. Without an answer the step stays.
func (w *World) removeRefused(c connection, err error) error {
	if !c.answered(err) {
		return err
	}
	return errors.Join(err, w.Journal.Remove(len(w.Journal.Steps)-1))
}

func (w *World) statements(ctx context.Context, v spec.Variant) error {
	if v.SQL == nil {
		return nil
	}
	if err := w.Journal.Add(journal.Step{Variant: v.Name, Statements: v.SQL.Revert}); err != nil {
		return err
	}
	return w.onDatabase(ctx, func(c connection) error {
		for _, s := range v.SQL.Apply {
			if err := c.exec(ctx, s); err != nil {
				return err
			}
		}
		return nil
	})
}

func (w *World) command(ctx context.Context, v spec.Variant) error {
	if v.Command == nil {
		return nil
	}
	if err := w.Journal.Add(journal.Step{Variant: v.Name, Command: v.Command.Revert}); err != nil {
		return err
	}
	return execute(ctx, v.Command.Apply)
}

func (w *World) startReading(ctx context.Context, v spec.Variant) error {
	if v.Readers == 0 {
		return nil
	}
	dsn, err := w.dsn()
	if err != nil {
		return err
	}
	w.readers, err = startReaders(ctx, w.Executable, dsn, v.Readers)
	return err
}

// dsn is the DSN of a user who may change the database.
func (w *World) dsn() (string, error) {
	if w.Dir != "" {
		return stack.AdminDSN(w.Dir)
	}
	if w.DSN == "" {
		return "", errors.New("no database is named")
	}
	return w.DSN, nil
}

func (w *World) onDatabase(ctx context.Context, do func(connection) error) error {
	dsn, err := w.dsn()
	if err != nil {
		return err
	}
	db, err := databases.Open(dsn)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(2) // a statement that runs is cancelled over another connection
	if err := database.Ping(ctx, db); err != nil {
		return hint.With(fmt.Errorf("reach the database: %s", databases.Reason(err)), hint.Of(err))
	}
	return do(connection{db})
}
