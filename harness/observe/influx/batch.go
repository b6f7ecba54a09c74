package influx

import (
	"cmp"
	"context"
	"errors"
	"time"
)

const (
	// batchLines is how many lines a write has at least, where there are so many:
	// InfluxData recommends 5,000 to 10,000.
	batchLines = 5000
	// patience is how long one write is tried again before it is given up.
	patience = 5 * time.Second
)

// sending is how seconds get to the server. A write has whole seconds in it, so
// that one that fails leaves no second half done.
type sending struct {
	points func(second int64) []Point
	write  func(lines []byte) error
	sent   func(seconds []int64) // the server has them
}

// send goes through the seconds until a write fails. Where the server only
// refuses what is written it goes on with the others.
func (s sending) send(seconds []int64) error {
	var refused error
	var lines []byte
	var in []int64
	count := 0
	for i, second := range seconds {
		points := s.points(second)
		var err error
		if lines, err = Append(lines, points); err != nil {
			return err
		}
		in = append(in, second)
		if count += len(points); count < batchLines && i < len(seconds)-1 {
			continue
		}
		if count > 0 { // not all that is measured is shown
			err = s.write(lines)
		}
		switch {
		case err == nil:
			s.sent(in)
		case errors.As(err, new(*refusal)):
			refused = cmp.Or(refused, err)
		default:
			return err
		}
		lines, in, count = lines[:0], in[:0], 0
	}
	return refused
}

// writeWithRetry writes, again and again for some time where the server is not there.
func (s *Server) writeWithRetry(ctx context.Context, lines []byte) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		err := s.Write(ctx, lines)
		if err == nil || errors.As(err, new(*refusal)) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
		if ctx.Err() != nil {
			return err // what another try would say is only that time is over
		}
	}
}
