package collect

import (
	"context"
	"time"

	"assay.dev/assay/internal/observe/metric"
)

// EverySecond calls read at the end of each second, and once more when ctx is done, and
// sends the points as the frame of that second. A second that passed during a slow read
// gets a frame without points, as nothing was measured in it. read must return in bounded
// time: it is not cancelled with ctx, so that the last increases are not lost.
func EverySecond(ctx context.Context, source string, sink Sink, read func() []metric.Point) error {
	seconds := NewSeconds(time.Now())
	stream := NewStream(source, sink)
	current := int64(0) // second of the next frame
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
