package collect

import (
	"context"
	"time"

	"assay/harness/observe/metric"
)

// EverySecond calls read at the end of each second, and a last time when ctx is
// done, and sends what it returns as the frame of that second. A second that
// passed during a slow read gets a frame without points: nothing was measured
// in it. read must end in bounded time by itself; it is not interrupted, so
// that the last increases are not lost.
func EverySecond(ctx context.Context, source string, sink Sink, read func() []metric.Point) error {
	seconds := NewSeconds(time.Now())
	stream := NewStream(source, sink)
	current := int64(0) // the second whose frame comes next
	for Sleep(ctx.Done(), seconds.Begin(current+1)) {
		last := max(seconds.Index(time.Now())-1, current)
		for ; current < last; current++ {
			stream.Send(seconds.Unix(current), nil)
		}
		stream.Send(seconds.Unix(current), read())
		current++
	}
	stream.Send(seconds.Unix(current), read())
	return stream.Close(seconds.Unix(current))
}
