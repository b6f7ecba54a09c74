package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"assay/harness/lab/stack"
	"assay/harness/servers/statefile"
)

// File is the journal's name in its folder.
const File = "experiment.json"

// schema of the journal.
const schema = "assay/journal/v1"

// Step undoes one change. One of its parts is set.
type Step struct {
	Variant    string   `json:"variant"`
	Stack      *Restart `json:"stack,omitempty"`
	Statements []string `json:"statements,omitempty"`
	Command    []string `json:"command,omitempty"`
}

// Restart is how the local stack was run before.
type Restart struct {
	Setup    stack.Setup `json:"setup"`
	Database bool        `json:"database"` // the server was started anew, not the service alone
}

// Content is what a journal holds.
type Content struct {
	Schema     string    `json:"schema"`
	Experiment string    `json:"experiment"`
	Started    time.Time `json:"started"`
	Target     string    `json:"target"`   // base URL; empty: the local stack
	Database   string    `json:"database"` // without a password; empty: the local stack's
	Steps      []Step    `json:"steps"`    // in the order of the changes
}

// Journal is that of one folder.
type Journal struct {
	path string
	Content
}

// Open reads the journal of a folder; nil where there is none, and so nothing to
// undo.
func Open(dir string) (*Journal, error) {
	j := &Journal{path: filepath.Join(dir, File)}
	err := statefile.Read(j.path, &j.Content)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read the experiment's journal: %w", err)
	case j.Schema != schema:
		return nil, fmt.Errorf("read the experiment's journal: %s is no %s", j.path, schema)
	}
	return j, nil
}

// New makes a journal; nothing is written before Keep or the first step.
func New(dir string, c Content) *Journal {
	c.Schema, c.Steps = schema, []Step{}
	return &Journal{filepath.Join(dir, File), c}
}

// Path is where it is kept.
func (j *Journal) Path() string { return j.path }

// Keep writes the journal down before there is a step, so that who looks finds an
// experiment under way.
func (j *Journal) Keep() error { return j.write() }

// End deletes a journal without steps; one that has some stays.
func (j *Journal) End() error {
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
		return fmt.Errorf("end the experiment's journal: %w", err)
	}
	return nil
}

// Add writes down how a change is undone. It is on disk when Add returns, and
// the change may be made.
func (j *Journal) Add(s Step) error {
	j.Steps = append(j.Steps, s)
	if err := j.write(); err != nil {
		j.Steps = j.Steps[:len(j.Steps)-1]
		return err
	}
	return nil
}

// Remove strikes a step out once it was taken.
func (j *Journal) Remove(i int) error {
	left := slices.Delete(slices.Clone(j.Steps), i, i+1)
	was := j.Steps
	j.Steps = left
	if err := j.write(); err != nil {
		j.Steps = was
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
		return fmt.Errorf("keep the experiment's journal: %w", err)
	}
	return nil
}

// syncFolder makes a new name in a folder, or one that is gone, outlive a crash
// of the machine.
func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
