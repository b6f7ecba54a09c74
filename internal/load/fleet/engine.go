package fleet

import (
	"context"
	"fmt"
	"time"

	"assay.dev/assay/internal/observe/record"
)

// Engine starts the workers of a run. Each of them then joins the coordinator by itself,
// as `assay worker`.
type Engine interface {
	// Start starts them. Without an error, nil: others start them, and nobody here ends them.
	Start(ctx context.Context, l Launch) (Workers, error)
}

// Others is the engine of workers that others start: it tells them how.
type Others struct{}

// Start tells the line that starts a worker.
func (Others) Start(_ context.Context, l Launch) (Workers, error) {
	l.Say(fmt.Sprintf("waiting for workers, 0 of %d: start each with", l.Workers))
	l.Say(l.Line)
	if l.Loopback {
		l.Say("this address is for workers on this machine; for others, listen on an address of this machine's network: --listen ADDRESS:PORT")
	}
	return nil, nil //nolint:nilnil // see Engine
}

// Launch is what workers are started with.
type Launch struct {
	Run        string // id
	Workers    int
	Executable string // this program
	Address    string // address of the coordinator, as in --join
	Here       string // the same for workers on this host
	Loopback   bool   // Address is for workers on this host only
	Line       string // shell command that starts a worker anywhere
	Token      string // token of the run
	Target     string // base URL of the system under test
	// TargetPorts are the ports of the instances behind the Service that Target names;
	// nil: not known.
	TargetPorts []int
	Hosts       []string          // further hosts that the script may send to
	Database    string            // ADDRESS:PORT that the script connects to; empty: it does not
	Nodes       []string          // ADDRESS:PORT of the database's nodes that the script connects to
	Longest     time.Duration     // how long the run can take; after that an engine may remove what is left
	Say         func(text string) // reports progress
}

// Workers are workers that an engine has started.
type Workers interface {
	// Ended receives how each worker ended.
	Ended() <-chan Ended
	// Obstacles says why workers have not started yet, a line each.
	Obstacles() []string
	// Resume lets suspended workers go on: they must hear that they are to stop.
	Resume()
	// Kill ends the workers at once.
	Kill()
	// Close ends the workers that are left and removes all that was started. It may take
	// minutes, and less after Kill. Its error names what is left, with the command that removes it as its hint.
	Close() error
}

// InPods are workers that are pods of a cluster.
type InPods interface {
	// Pods is what the cluster says of the workers' pods, by name. It waits, within ctx, for
	// the pods of workers that have ended.
	Pods(ctx context.Context) map[string]record.Pod
}

// Printing are workers whose processes print what the workers' own logs do not hold.
type Printing interface {
	// Printed is the end of what they have printed, by the names of the logs. It may wait a moment.
	Printed() map[string][]byte
}

// Ended is how the process or the pod of a worker ended.
type Ended struct {
	Name   string // name of what ended, in messages; empty: a worker
	PID    int    // on this host; 0: another host's
	Pod    string // NAMESPACE/NAME; empty: none
	Status string // "0", "2", "signal: killed", ...
	Output string // last line that it printed, without the name of the command, or what ended it; empty: not known
}
