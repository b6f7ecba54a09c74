package collect

import (
	"context"

	"assay.dev/assay/internal/observe/metric"
)

// Sink takes a frame; it may block briefly and must not keep the frame's points
// after an error. After an error a frame may be sent again, with the same sequence.
type Sink func(metric.Frame) error

// Collector is a source of frames other than a worker. Its methods are called
// in the order Start, Run, Close, each once; Close also after a failed Start.
type Collector interface {
	// Source returns the name of the frames' source, such as metric.SourceDatabase.
	Source() string
	// Start connects and enables instruments. Its error says what to run or to change.
	Start(ctx context.Context) error
	// Run sends one frame per second until ctx is done, then the last frame and the
	// closing frame. A failure is retried, in bounded time, and leaves a gap in the
	// data. It returns soon after ctx is done, even if the source does not answer.
	Run(ctx context.Context, sink Sink) error
	// Close restores what Start changed, also after a failed Run, in bounded time. A
	// second call does nothing.
	Close() error
}
