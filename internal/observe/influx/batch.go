package influx

import (
	"cmp"
	"context"
	"errors"
	"time"
)

const (
	// batchLines is the number of lines after which a batch is written; InfluxData
	// recommends 5,000 to 10,000.
	batchLines = 5000
	// retryTimeout bounds the attempts of one write.
	retryTimeout = 5 * time.Second
)

// sender sends seconds to the server in batches. A batch holds whole seconds, so that a
// write that fails leaves no second incomplete.
type sender struct {
	points func(second int64) []Point
	write  func(lines []byte) error
	sent   func(seconds []int64) // called with the seconds of each successful write
}

// send sends the seconds until a write fails. After a batch that the server rejects it
// goes on with the next.
func (s sender) send(seconds []int64) error {
	var rejected error
	var lines []byte
	var batch []int64
	count := 0
	for i, second := range seconds {
		points := s.points(second)
		var err error
		if lines, err = Append(lines, points); err != nil {
			return err
		}
		batch = append(batch, second)
		if count += len(points); count < batchLines && i < len(seconds)-1 {
			continue
		}
		if count > 0 { // a second may have only metrics that are not shown
			err = s.write(lines)
		}
		switch {
		case err == nil:
			s.sent(batch)
		case errors.As(err, new(*rejectedError)):
			rejected = cmp.Or(rejected, err)
		default:
			return err
		}
		lines, batch, count = lines[:0], batch[:0], 0
	}
	return rejected
}

// writeWithRetry writes, and retries with backoff until retryTimeout unless the server
// rejects the points.
func (s *Server) writeWithRetry(ctx context.Context, lines []byte) error {
	ctx, cancel := context.WithTimeout(ctx, retryTimeout)
	defer cancel()
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		err := s.Write(ctx, lines)
		if err == nil || errors.As(err, new(*rejectedError)) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
		if ctx.Err() != nil {
			return err // another attempt would only report the timeout
		}
	}
}
