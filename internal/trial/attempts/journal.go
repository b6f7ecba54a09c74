package attempts

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gofrs/flock"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/localstack"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/spec"
)

const (
	// File is the name of the journal in the folder of a project's state.
	File     = "attempts.jsonl"
	lockFile = "attempts.lock"

	maxJournal  = 16 << 20 // bytes that are read of a journal
	maxRuns     = 10_000   // runs that it keeps once it has twice as many
	remembered  = certificate.Validity
	lockTimeout = 10 * time.Second // for other runs to write a line each
)

// Journal is where the attempts of a project are counted.
type Journal struct {
	Dir  string // folder of the project's state
	Runs string // folder of runs, whose records count too; empty: none

	keep int // for tests: instead of maxRuns
}

// Of is the journal of a project, by the path of its thresholds file.
func Of(thresholds, runs string) Journal {
	return Journal{Dir: filepath.Join(filepath.Dir(thresholds), localstack.DefaultDir), Runs: runs}
}

// entry is a line of the journal: a run that begins, or what became known of it since.
type entry struct {
	Run      string    `json:"run"`
	At       time.Time `json:"at"`
	Profile  string    `json:"profile"`
	Target   string    `json:"target"`
	Revision string    `json:"revision,omitempty"` // of the service; empty: it reported none
	Setup    string    `json:"setup,omitempty"`    // digest of load, SLOs and scripts
	Verdict  string    `json:"verdict,omitempty"`  // empty: it ended without one, or has not ended
}

// entryOf is the entry of a run that begins.
func entryOf(p record.Plan, e record.Environment) entry {
	return entry{Run: p.Run, Profile: p.Profile.Name, Target: place(p.Target), Revision: revision(e.Service), Setup: setup(p.Profile, p.Scripts)}
}

// setup is a digest of what a run asks: the profile, with the changes of the command line, and
// its scripts.
func setup(p spec.Profile, scripts []record.Digest) string {
	return digest(struct {
		Profile spec.Profile
		Scripts []record.Digest
	}{p, scripts})
}

// revision is what a service reports about its build, in one word; empty: nothing.
func revision(s *record.Service) string {
	if s == nil || len(s.Builds) == 0 {
		return ""
	}
	return digest(s.Builds)
}

// digest is short; empty, as of no other: there is none.
func digest(v any) string {
	data, err := json.Marshal(v) // maps are sorted by key
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// Begin counts a run whose load begins, and the attempts before it. A run that goes on is
// counted once.
func (j Journal) Begin(p record.Plan, e record.Environment) (n int, earlier *record.Earlier) {
	own := entryOf(p, e)
	before, unread, err := j.begin(own)
	if err != nil {
		return 0, &record.Earlier{Unknown: err.Error()}
	}
	return count(groups(before), own, unread)
}

// End notes the verdict of a run that has ended, and what its record says of it.
func (j Journal) End(p record.Plan, e record.Environment, verdict string) error {
	own := entryOf(p, e)
	own.Verdict, own.At = verdict, now()
	return j.locked(func() error {
		_, _, torn, err := j.read()
		if err != nil {
			return err
		}
		return j.write(own, torn)
	})
}

func now() time.Time { return time.Now().UTC().Truncate(time.Second) }

// begin appends an entry, and returns those of the same profile and target before it.
func (j Journal) begin(own entry) (before []entry, unread int, err error) {
	own.At = now()
	err = j.locked(func() error {
		all, lines, torn, err := j.read()
		if err != nil {
			return err
		}
		unread = len(lines)
		known := slices.IndexFunc(all, func(e entry) bool { return e.Run == own.Run })
		if before = all; known >= 0 { // it goes on
			before = all[:known]
			return nil
		}
		before = append(before, j.unlisted(all, own)...)
		if err := j.write(own, torn); err != nil || len(all) < 2*cmp.Or(j.keep, maxRuns) {
			return err
		}
		return j.prune()
	})
	before = slices.DeleteFunc(slices.Clone(before), func(e entry) bool {
		return e.Run == own.Run || e.Profile != own.Profile || e.Target != own.Target || !e.At.IsZero() && own.At.Sub(e.At) > remembered
	})
	return before, unread, err
}

// locked calls do while no other process of this machine uses the journal.
func (j Journal) locked(do func() error) error {
	if err := os.MkdirAll(j.Dir, 0o700); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockTimeout)
	defer cancel()
	lock := flock.New(filepath.Join(j.Dir, lockFile), flock.SetFlag(os.O_CREATE|os.O_RDWR))
	if locked, err := lock.TryLockContext(ctx, 10*time.Millisecond); !locked && !errors.Is(err, errors.ErrUnsupported) {
		return fmt.Errorf("lock %s: %w", lock.Path(), errors.Join(err, context.Cause(ctx)))
	}
	defer lock.Unlock() //nolint:errcheck // the process's end releases it too
	return do()
}

func (j Journal) path() string { return filepath.Join(j.Dir, File) }

// read returns the runs in the order in which they began, and the lines that cannot be read.
// torn: the last line has no end.
func (j Journal) read() (all []entry, unread [][]byte, torn bool, err error) {
	data, err := foreign.ReadFile(j.path(), maxJournal)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, false, nil
	}
	if err != nil {
		return nil, nil, false, err
	}
	at := map[string]int{}
	for line := range bytes.Lines(data) {
		var e entry
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if foreign.DecodeJSON(line, maxFields, &e) != nil || e.Run == "" {
			unread = append(unread, line)
			continue
		}
		i, known := at[e.Run]
		if known {
			all[i].add(e)
			continue
		}
		at[e.Run] = len(all)
		all = append(all, e)
	}
	return all, unread, len(data) > 0 && data[len(data)-1] != '\n', nil
}

// maxFields limits the values of a line.
const maxFields = 32

// add adds what became known of a run.
func (e *entry) add(later entry) {
	e.Verdict, e.Revision, e.Setup = cmp.Or(later.Verdict, e.Verdict), cmp.Or(later.Revision, e.Revision), cmp.Or(later.Setup, e.Setup)
}

func (j Journal) write(e entry, torn bool) (err error) {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	line = append(line, '\n')
	if torn {
		line = append([]byte{'\n'}, line...)
	}
	f, err := os.OpenFile(j.path(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(line)
	return errors.Join(err, f.Sync(), f.Close())
}

// prune removes the oldest runs of a journal that has become long. Lines that cannot be read
// are kept, as long as they are short: they may be attempts.
func (j Journal) prune() error {
	all, unread, _, err := j.read()
	if err != nil {
		return err
	}
	var shorter bytes.Buffer
	for _, e := range all[max(0, len(all)-cmp.Or(j.keep, maxRuns)):] {
		if err := json.NewEncoder(&shorter).Encode(e); err != nil {
			return err
		}
	}
	const maxUnread = 1 << 20
	left := maxUnread
	for _, line := range unread {
		if len(line) <= left {
			left -= len(line)
			shorter.Write(append(line, '\n'))
		}
	}
	return record.WriteFile(j.path(), shorter.Bytes())
}
