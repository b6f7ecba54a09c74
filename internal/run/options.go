package run

import (
	"context"
	"log/slog"
	"time"

	"assay.dev/assay/internal/load/fleet"
	"assay.dev/assay/internal/observe/collect/databases"
	"assay.dev/assay/internal/observe/collect/service/endpoints"
	"assay.dev/assay/internal/observe/influx"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/spec"
)

// Options is what a run needs.
type Options struct {
	Task
	System
	ID         string // run id
	Dir        string // run folder, which must not exist or be empty
	Resume     bool   // continue the run in Dir, whose coordinator was killed; what was asked for is in its record
	Join       Join
	Engine     fleet.Engine  // starts the workers; nil: on this machine
	Executable string        // this program, re-executed as workers
	Tool       record.Tool   // its build
	Sealer     record.Sealer // signs the record when it is sealed; nil: nobody does
	Log        *slog.Logger
	Progress   func(Event) // called from one goroutine at a time; must not block long

	// ForceStop is done when a run that is ending must not wait any longer: workers
	// are killed, and the database is still restored. nil: never.
	ForceStop context.Context

	// StartTimeout bounds the initialisation of scripts and VUs, setup()
	// included; 0: DefaultStartTimeout.
	StartTimeout time.Duration
}

// Task is what is run.
type Task struct {
	File        spec.File
	Profile     spec.Profile      // with the overrides of the command line applied
	Overrides   map[string]string // those overrides, for the record
	Workers     int
	Seed        uint64
	Scope       string   // "smoke", "certificate" or "trial"
	Outputs     []string // further k6 outputs of the workers, as for k6's --out; %d is replaced by the number of the worker
	Runs        string   // folder of all runs, for what earlier ones have shown; empty: none
	Limitations []string // limitations that are known before the run, for its record
	// Count counts the run when its load begins, and returns its number among the attempts of
	// its profile, and those before it. nil: it is none.
	Count func(record.Plan, record.Environment) (int, *record.Earlier)
	// Undecided judges an interim look at the running load and returns the SLOs that
	// it cannot decide; if there are none, the load ends. nil: it ends at the first
	// look.
	Undecided func(record.Run) []string
}

// System is the system under test, and what shows it.
type System struct {
	Target string // its base URL
	// TargetService is the Service that Target names in a cluster, where this process is too;
	// nil: none.
	TargetService *endpoints.Service
	AllowHosts    []string        // hosts that load may go to, in addition to loopback and the targets of the file
	DSN           string          // DSN of the database; empty: none
	Nodes         string          // ASSAY_DB_NODES of scripts that need the database's nodes, as databases.ParseNodes reads them; empty: none
	Insights      databases.Waits // where the database's waits are read from; nil: from the database itself
	Readers       []string        // DSNs of replicas whose lag is watched
	StubToken     string          // token of the profile's stubs: a secret
	// FaultNodes are the nodes of the local stack, into which faults are injected; nil: none.
	FaultNodes Nodes
	View       *influx.Server // InfluxDB that shows the run while it goes on; nil: none
}

// Join is how workers reach the coordinator.
type Join struct {
	Remote      bool          `json:"remote"`                // workers are on other machines; else they are started on this one
	Listen      string        `json:"listen"`                // host:port; empty: a free port of loopback
	Advertise   string        `json:"advertise,omitempty"`   // host:port that workers are told; empty: Listen
	Token       string        `json:"-"`                     // token of the run; empty: random
	Timeout     time.Duration `json:"-"`                     // for all workers to join; 0: DefaultJoinTimeout
	Certificate string        `json:"certificate,omitempty"` // file of a given TLS certificate; empty: one is made for the run
	Key         string        `json:"key,omitempty"`         // file of its private key
	ByCPUs      bool          `json:"-"`                     // shares of the load are in proportion to the workers' CPUs; else equal
}

// DefaultJoinTimeout is enough for a person to start workers by hand.
const DefaultJoinTimeout = 10 * time.Minute

// DefaultStartTimeout exceeds k6's own limit on setup(), one minute.
const DefaultStartTimeout = 3 * time.Minute

// Event reports the progress of a run.
type Event struct {
	Kind   EventKind
	Text   string // text of a Step or Note
	Stage  plan.Stage
	Offset time.Duration // since t0
	Of     time.Duration // length of the schedule
	Live   Live
}

// EventKind is the kind of an event.
type EventKind int

// The kinds of events.
const (
	Step  EventKind = iota // something begins, such as "initialising 148 VUs"
	Note                   // something to know, such as "no waits: ..."
	Enter                  // a stage of the load begins
	Tick                   // a second of load has passed
)

// script is what the workers run.
func (t Task) script() fleet.Main { return fleet.MainOf(t.File, t.Profile) }

func (o *Options) step(text string) { o.Progress(Event{Kind: Step, Text: text}) }

func (o *Options) note(text string) { o.Progress(Event{Kind: Note, Text: text}) }
