package session

import (
	"errors"
	"fmt"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/localstack"
	"assay.dev/assay/internal/series/experiment/change"
)

// System is the system to which the variants are applied: the local stack if target
// is empty, else the target with the database at the DSN. release unlocks the folder
// of its journal.
func (s *Session) System(target, dsn string) (w *change.System, release func(), err error) {
	w, release = &change.System{Executable: s.Options.Executable, Log: s.Options.Log}, func() {}
	if target == "" {
		w.Dir = localstack.DefaultDir
	} else {
		if err := s.checkDatabase(dsn); err != nil {
			return nil, nil, err
		}
		release, err = localstack.Reserve(localstack.DefaultDir)
		if errors.Is(err, localstack.ErrInUse) {
			err = hint.With(errors.New("another experiment, or a run on the local stack, is using this folder"), "wait until it has ended")
		}
		if err != nil {
			return nil, nil, err
		}
		w.DSN = dsn
	}
	if err := checkJournal(); err != nil {
		release()
		return nil, nil, err
	}
	w.Begin(localstack.DefaultDir, s.Parameters.ID, target, s.Parameters.Started)
	return w, release, nil
}

// checkDatabase refuses variants that change the database if its DSN is empty.
func (s *Session) checkDatabase(dsn string) error {
	for _, v := range s.Experiment.Variants {
		if v.NeedsDatabase() && dsn == "" {
			return hint.With(fmt.Errorf("variant %s changes the database, but no database is named", v.Name),
				"set ASSAY_DB to its DSN, like user:password@tcp(127.0.0.1:3306)/shop")
		}
	}
	return nil
}

// checkJournal refuses a new experiment if the folder has the journal of an
// interrupted one on another system: replacing it would lose how to restore that
// system. A journal of the same system was replayed before.
func checkJournal() error {
	j, err := change.OpenJournal(localstack.DefaultDir)
	if err != nil || j == nil || len(j.Steps) == 0 {
		return err
	}
	target, option := "the local stack", "without --target"
	if j.Target != "" {
		target, option = j.Target, "with --target "+j.Target
	}
	return hint.With(fmt.Errorf("%s on %s was interrupted, and its changes were not restored", j.Experiment, target),
		fmt.Sprintf("run assay experiment, certify or search %s to restore them; or restore them by hand and delete %s", option, j.Path))
}
