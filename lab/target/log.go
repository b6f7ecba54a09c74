package target

import (
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// limitedLog limits the rate of log lines, for example while the database is down: ten at
// once, then one per second, each with the number of lines dropped before it.
type limitedLog struct {
	log     *slog.Logger
	limit   *rate.Limiter
	dropped atomic.Int64
}

func newLimitedLog(log *slog.Logger) *limitedLog {
	return &limitedLog{log: log, limit: rate.NewLimiter(rate.Every(time.Second), 10)}
}

func (l *limitedLog) error(msg string, err error, args ...any) {
	if !l.limit.Allow() {
		l.dropped.Add(1)
		return
	}
	l.log.Error(msg, append(args, "error", err, "dropped_lines", l.dropped.Swap(0))...)
}

// Print makes it the driver's logger, which writes to stderr without limit by default.
func (l *limitedLog) Print(v ...any) {
	l.error("database driver", fmt.Errorf("%s", fmt.Sprint(v...)))
}
