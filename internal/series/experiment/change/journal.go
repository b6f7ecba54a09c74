package change

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"assay.dev/assay/internal/localstack"
	"assay.dev/assay/internal/servers/statefile"
)

// JournalFile is the journal's name in its folder.
const JournalFile = "experiment.json"

const journalSchema = "assay/journal/v1"

// Step undoes one change. One of Stack, Statements and Command is set.
type Step struct {
	Variant    string   `json:"variant"`
	Stack      *Restart `json:"stack,omitempty"`
	Statements []string `json:"statements,omitempty"`
	Command    []string `json:"command,omitempty"`
}

// Restart restarts the local stack with its former setup.
type Restart struct {
	Setup    localstack.Setup `json:"setup"`
	Database bool             `json:"database"` // restart the database server too, not only the service
}

// Journal says on disk how to undo the changes of an experiment, so that the next command can
// undo them if the experiment was killed. It holds no secret: a database is named without its
// password. Nothing here locks: the caller has locked the folder (localstack.Reserve).
type Journal struct {
	Path string `json:"-"`

	Schema     string    `json:"schema"`
	Experiment string    `json:"experiment"`
	Started    time.Time `json:"started"`
	Target     string    `json:"target"`   // base URL; empty: the local stack
	Database   string    `json:"database"` // without a password; empty: the local stack's
	Steps      []Step    `json:"steps"`    // in the order of the changes
}

// OpenJournal reads the journal of a folder; nil if there is none.
func OpenJournal(dir string) (*Journal, error) {
	j := &Journal{Path: filepath.Join(dir, JournalFile)}
	err := statefile.Read(j.Path, j)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read the experiment's journal: %w", err)
	case j.Schema != journalSchema:
		return nil, fmt.Errorf("read the experiment's journal: %s: schema is not %s", j.Path, journalSchema)
	}
	return j, nil
}

// Save writes and syncs the journal, even without steps: other commands then see that an
// experiment is running.
func (j *Journal) Save() error {
	err := statefile.Write(j.Path, j)
	if err == nil {
		err = syncFolder(filepath.Dir(j.Path))
	}
	if err != nil {
		return fmt.Errorf("write the experiment's journal: %w", err)
	}
	return nil
}

// Close deletes the journal unless it has steps.
func (j *Journal) Close() error {
	if len(j.Steps) > 0 {
		return nil
	}
	err := os.Remove(j.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = syncFolder(filepath.Dir(j.Path))
	}
	if err != nil {
		return fmt.Errorf("delete the experiment's journal: %w", err)
	}
	return nil
}

// Add appends a step. Once Add has returned, the step is on disk and the change may be
// made.
func (j *Journal) Add(s Step) error { return j.replace(append(j.Steps[:len(j.Steps):len(j.Steps)], s)) }

// Remove removes a step whose change was undone.
func (j *Journal) Remove(i int) error { return j.replace(slices.Delete(slices.Clone(j.Steps), i, i+1)) }

// replace replaces the steps, unless they cannot be written.
func (j *Journal) replace(steps []Step) error {
	before := j.Steps
	j.Steps = steps
	err := j.Save()
	if err != nil {
		j.Steps = before
	}
	return err
}

// syncFolder syncs a directory, so that a created or deleted name in it survives a
// crash of the machine.
func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
