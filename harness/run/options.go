package run

import (
	"context"
	"log/slog"
	"path/filepath"
	"time"

	"assay/harness/observe/database"
	"assay/harness/observe/influx"
	"assay/harness/observe/record"
	"assay/harness/plan"
	"assay/harness/spec"
)

// Options is what a run needs.
type Options struct {
	ID         string // run id
	Dir        string // run folder, which must not exist or be empty
	File       spec.File
	Profile    spec.Profile      // with the command line's overrides applied
	Overrides  map[string]string // what they were, for the record
	Workers    int
	Seed       uint64
	Target     string             // base URL of the system under test
	AllowHosts []string           // hosts that load may go to, beside loopback and the file's
	DSN        string             // database; empty: the run has none
	Insights   *database.Insights // where its waits are read from instead; nil: from the database itself
	Readers    []string           // DSNs of replicas whose lag is watched
	Journal    string             // folder in which stands what of the database has to be restored, should this process be killed; empty: nowhere
	Scope      string             // "smoke" or "certificate"
	Outputs    []string           // further k6 outputs of the workers, as for k6's --out; %d stands for the worker's number
	Executable string             // this program, re-executed as workers
	Tool       record.Tool
	View       *influx.Server // where the run is shown while it goes on; nil: nowhere
	Attempt    int            // which run of this profile with the same tool this is; 0: not known
	// Limitations that are known before the run, and that its record has to say.
	Limitations []string
	// Undecided tells which SLOs a look at a run under way leaves undecided; none:
	// the run ends there. nil: it ends at its first look.
	Undecided func(record.Run) []string
	Log       *slog.Logger
	Progress  func(Event) // called from one goroutine at a time; must not block long

	// ForceStop is done when a run that is ending is to wait for nothing any more:
	// workers are killed. What was changed is restored all the same. nil: never.
	ForceStop context.Context

	// StartTimeout bounds the initialisation of scripts and VUs, setup()
	// included; 0: DefaultStartTimeout.
	StartTimeout time.Duration
}

// DefaultStartTimeout has room for k6's own limit on setup(), one minute.
const DefaultStartTimeout = 3 * time.Minute

// Event is what there is to tell while a run goes on.
type Event struct {
	Kind   EventKind
	Text   string // of a Step or Note
	Stage  plan.Stage
	Offset time.Duration // since t0
	Of     time.Duration // length of the schedule
	Live   Live
}

// EventKind tells events apart.
type EventKind int

// The kinds of events.
const (
	Step  EventKind = iota // something begins: "initialising 148 VUs"
	Note                   // something to know: "no waits: ..."
	Enter                  // a stage of the load begins
	Tick                   // a second of load has passed
)

// script is the path of the profile's scenario, which is relative to the
// thresholds file.
func (o Options) script() string {
	return filepath.Join(filepath.Dir(o.File.Path), filepath.FromSlash(o.Profile.Scenario))
}
