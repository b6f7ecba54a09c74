package change

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/localstack"
	"assay.dev/assay/internal/observe/collect/databases"
	"assay.dev/assay/internal/series/experiment/binlog"
	"assay.dev/assay/internal/servers/process"
	"assay.dev/assay/internal/spec"
)

// System is the system to which variants are applied.
type System struct {
	Journal    *Journal
	Dir        string // folder of the local stack; empty: another system
	DSN        string // DSN of another system's database, with a user who may change it; a secret
	Executable string // this program
	Log        *slog.Logger

	// needs says what to restart before each run. If one variant runs on a freshly started
	// server, all variants have to, or they would differ in that as well.
	needs   struct{ database, service bool }
	setup   *localstack.Setup
	readers *readers
	read    binlog.Read // by the readers that were stopped last
}

// Begin makes the journal, which nothing writes before Save or the first step, in a folder that the caller has locked. target is the
// base URL of the system; empty: the local stack.
func (sys *System) Begin(dir, experiment, target string, at time.Time) {
	sys.Journal = &Journal{
		Path: filepath.Join(dir, JournalFile), Schema: journalSchema, Experiment: experiment, Started: at, Target: target,
		Database: databases.Public(sys.DSN), Steps: []Step{},
	}
}

// Prepare checks what the variants need, before one is applied.
func (sys *System) Prepare(ctx context.Context, variants []spec.Variant) error {
	var database bool
	for _, v := range variants {
		sys.needs.database = sys.needs.database || len(v.Database) > 0
		sys.needs.service = sys.needs.service || len(v.Service) > 0
		database = database || v.NeedsDatabase()
	}
	if sys.Dir != "" {
		s, err := localstack.Status(ctx, sys.Dir)
		if err != nil {
			return err
		}
		sys.setup = &s.Setup
	}
	if !database {
		return nil
	}
	return sys.onDatabase(ctx, func(c connection) error {
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

// Apply applies a variant. If it fails, or ctx ends, the changes made so far are in
// the journal: call Close.
func (sys *System) Apply(ctx context.Context, v spec.Variant) error {
	for _, step := range []func(context.Context, spec.Variant) error{sys.restart, sys.globals, sys.statements, sys.command, sys.startReading} {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := step(ctx, v); err != nil {
			return fmt.Errorf("apply variant %s: %w", v.Name, err)
		}
	}
	return nil
}

// restart restarts server and service, if any variant has options for them. The
// journal gets one step for all runs, with the options before the experiment.
func (sys *System) restart(ctx context.Context, v spec.Variant) error {
	if !sys.needs.database && !sys.needs.service {
		return nil
	}
	if !slices.ContainsFunc(sys.Journal.Steps, func(s Step) bool { return s.Stack != nil }) {
		if err := sys.Journal.Add(Step{Stack: &Restart{Setup: *sys.setup, Database: sys.needs.database}}); err != nil {
			return err
		}
	}
	to := *sys.setup
	to.Database = slices.Concat(to.Database, v.Database)
	to.Target = slices.Concat(to.Target, v.Service)
	return localstack.Restart(ctx, sys.Dir, to, localstack.Parts{Database: sys.needs.database, Target: true})
}

func (sys *System) globals(ctx context.Context, v spec.Variant) error {
	if len(v.Global) == 0 {
		return nil
	}
	return sys.onDatabase(ctx, func(c connection) error {
		before, err := c.globals(ctx, v.Global)
		if err != nil {
			return err
		}
		for i, g := range before {
			if err := sys.Journal.Add(Step{Variant: v.Name, Statements: []string{g.set(g.before)}}); err != nil {
				return err
			}
			if err := c.exec(ctx, g.set(v.Global[i].Value)); err != nil {
				if !c.answered(err) {
					return err
				}
				return errors.Join(err, sys.Journal.Remove(len(sys.Journal.Steps)-1)) // refused: nothing is to undo
			}
		}
		return nil
	})
}

func (sys *System) statements(ctx context.Context, v spec.Variant) error {
	if v.SQL == nil {
		return nil
	}
	if err := sys.Journal.Add(Step{Variant: v.Name, Statements: v.SQL.Revert}); err != nil {
		return err
	}
	return sys.onDatabase(ctx, func(c connection) error {
		for _, s := range v.SQL.Apply {
			if err := c.exec(ctx, s); err != nil {
				return err
			}
		}
		return nil
	})
}

func (sys *System) command(ctx context.Context, v spec.Variant) error {
	if v.Command == nil {
		return nil
	}
	if err := sys.Journal.Add(Step{Variant: v.Name, Command: v.Command.Revert}); err != nil {
		return err
	}
	return process.Execute(ctx, v.Command.Apply)
}

func (sys *System) startReading(ctx context.Context, v spec.Variant) error {
	if v.Readers == 0 {
		return nil
	}
	dsn, err := sys.dsn(ctx)
	if err != nil {
		return err
	}
	sys.readers, err = startReaders(ctx, sys.Executable, dsn, v.Readers)
	return err
}

// dsn is the DSN of a user who may change the database.
func (sys *System) dsn(ctx context.Context) (string, error) {
	if sys.Dir != "" {
		return localstack.AdminDSN(ctx, sys.Dir)
	}
	if sys.DSN == "" {
		return "", errors.New("no database is named")
	}
	return sys.DSN, nil
}

func (sys *System) onDatabase(ctx context.Context, do func(connection) error) error {
	dsn, err := sys.dsn(ctx)
	if err != nil {
		return err
	}
	db, err := databases.OpenSQL(dsn)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(2) // one to cancel a running statement of the other
	if err := db.Ping(ctx); err != nil {
		return hint.With(fmt.Errorf("reach the database: %s", databases.Reason(err)), hint.Of(err))
	}
	return do(connection{db})
}
