package collect

import (
	"context"

	"assay/harness/observe/metric"
)

// Names of the sources that collectors send from.
const (
	Database = metric.SourceDatabase
	Service  = metric.SourceService
	Host     = metric.SourceHost
)

// Sink takes a frame; it may block briefly and must not keep the frame's points
// after an error. A frame may come again after an error, with the same sequence.
type Sink func(metric.Frame) error

// Collector is one source of frames beside the workers. Its methods are called
// in the order Start, Run, Close, each once; Close also after a failed Start.
type Collector interface {
	// Source names the frames, see metric.SourceDatabase and its neighbours.
	Source() string
	// Start prepares: it connects, and switches instruments on. Its error says
	// what to run or to change.
	Start(ctx context.Context) error
	// Run sends one frame a second until ctx is done, then what is left and the
	// closing frame. A failure in the middle is retried, in bounded time, and
	// leaves a gap that the data show. It ends soon after ctx, whatever the
	// other side does.
	Run(ctx context.Context, sink Sink) error
	// Close restores what Start changed, also after a failed Run, in a bounded
	// time of its own. A second call does nothing.
	Close() error
}
