package target

import (
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// limitedLog keeps a database that is away from filling the disk: ten lines at
// once, then one a second, each saying how many were left out before it.
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

// Print makes it the driver's logger, which would write to stderr unbounded.
func (l *limitedLog) Print(v ...any) {
	l.error("database driver", fmt.Errorf("%s", fmt.Sprint(v...)))
}
