package session

import (
	"errors"
	"fmt"

	"assay/harness/hint"
	"assay/harness/lab/experiment/change"
	"assay/harness/lab/experiment/journal"
	"assay/harness/lab/stack"
)

// World is where the variants are put in place: the local stack where target is
// empty, else a target with the database at the DSN. release gives the folder of its
// journal free.
func (s *Session) World(target, dsn string) (w *change.World, release func(), err error) {
	w, release = &change.World{Executable: s.Options.Executable, Log: s.Options.Log}, func() {}
	if target == "" {
		w.Dir = stack.DefaultDir
	} else {
		if err := s.checkDatabase(dsn); err != nil {
			return nil, nil, err
		}
		release, err = stack.Occupy(stack.DefaultDir)
		if errors.Is(err, stack.ErrOccupied) {
			err = hint.With(errors.New("another experiment is under way in this folder, or a run on its local stack"), "wait until it has ended")
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
	w.Begin(stack.DefaultDir, s.Asked.ID, target, s.Asked.Started)
	return w, release, nil
}

// checkDatabase refuses what needs the database of a target, where none is named.
func (s *Session) checkDatabase(dsn string) error {
	for _, v := range s.Experiment.Variants {
		if v.NeedsDatabase() && dsn == "" {
			return hint.With(fmt.Errorf("variant %s changes the database, and none is named", v.Name),
				"set ASSAY_DB to its DSN, like user:password@tcp(127.0.0.1:3306)/shop")
		}
	}
	return nil
}

// checkJournal refuses where an experiment on another system was cut short here:
// its journal, which is all that knows what to set back there, would be replaced.
// That of the same system was replayed.
func checkJournal() error {
	j, err := journal.Open(stack.DefaultDir)
	if err != nil || j == nil || len(j.Steps) == 0 {
		return err
	}
	where, there := "the local stack", "without --target"
	if j.Target != "" {
		where, there = j.Target, "with --target "+j.Target
	}
	return hint.With(fmt.Errorf("%s on %s was cut short in this folder, and what it changed is not set back", j.Experiment, where),
		fmt.Sprintf("start assay experiment, certify or search %s, which sets it back; or set it back by hand, and delete %s", there, j.Path()))
}
