package journal

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

// File is the journal's name in its folder.
const File = "experiment.json"

// schema of the journal.
const schema = "assay/journal/v1"

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

// Content is the content of a journal's file.
type Content struct {
	Schema     string    `json:"schema"`
	Experiment string    `json:"experiment"`
	Started    time.Time `json:"started"`
	Target     string    `json:"target"`   // base URL; empty: the local stack
	Database   string    `json:"database"` // without a password; empty: the local stack's
	Steps      []Step    `json:"steps"`    // in the order of the changes
}

// Journal is the journal of one folder.
type Journal struct {
	path string
	Content
}

// Open reads the journal of a folder; nil if there is none.
func Open(dir string) (*Journal, error) {
	j := &Journal{path: filepath.Join(dir, File)}
	err := statefile.Read(j.path, &j.Content)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read the experiment's journal: %w", err)
	case j.Schema != schema:
		return nil, fmt.Errorf("read the experiment's journal: %s: schema is not %s", j.path, schema)
	}
	return j, nil
}

// New returns a journal; nothing is written before Save or the first step.
func New(dir string, c Content) *Journal {
	c.Schema, c.Steps = schema, []Step{}
	return &Journal{filepath.Join(dir, File), c}
}

// Path is the journal's file.
func (j *Journal) Path() string { return j.path }

// Save writes the journal, even without steps: other commands then see that an
// experiment is running.
func (j *Journal) Save() error { return j.write() }

// Close deletes the journal unless it has steps.
func (j *Journal) Close() error {
	if len(j.Steps) > 0 {
		return nil
	}
	err := os.Remove(j.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = syncFolder(filepath.Dir(j.path))
	}
	if err != nil {
		return fmt.Errorf("delete the experiment's journal: %w", err)
	}
	return nil
}

// Add appends a step. Once Add has returned, the step is on disk and the change may be
// made.
func (j *Journal) Add(s Step) error {
	j.Steps = append(j.Steps, s)
	if err := j.write(); err != nil {
		j.Steps = j.Steps[:len(j.Steps)-1]
		return err
	}
	return nil
}

// Remove removes a step whose change was undone.
func (j *Journal) Remove(i int) error {
	before := j.Steps
	j.Steps = slices.Delete(slices.Clone(j.Steps), i, i+1)
	if err := j.write(); err != nil {
		j.Steps = before
		return err
	}
	return nil
}

func (j *Journal) write() error {
	err := statefile.Write(j.path, j.Content)
	if err == nil {
		err = syncFolder(filepath.Dir(j.path))
	}
	if err != nil {
		return fmt.Errorf("write the experiment's journal: %w", err)
	}
	return nil
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
