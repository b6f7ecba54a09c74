package run

import (
	"context"
	"fmt"
	"time"

	"assay.dev/assay/internal/observe/influx"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
)

const (
	// viewLimit bounds the completion of the view after the load, interruptedViewLimit
	// after an interrupted load: assay influx push writes the rest.
	viewLimit            = 15 * time.Second
	interruptedViewLimit = time.Second
	// checkLimit bounds the check of the server before the load.
	checkLimit = 3 * time.Second
)

// view shows the run in InfluxDB. A nil one shows nothing.
type view struct {
	to   *influx.View
	note func(string)
}

// openView prepares to show the run on a server; nil: nowhere. An unreachable server is
// reported, and does not stop the run.
func openView(ctx context.Context, server *influx.Server, note func(string)) *view {
	if server == nil {
		return nil
	}
	v := &view{influx.NewView(server), note}
	ctx, cancel := context.WithTimeout(ctx, checkLimit)
	defer cancel()
	v.to.Check(ctx)
	v.report()
	return v
}

// begin starts to write to the view, once t0 is known.
func (v *view) begin(p record.Plan, e record.Environment, t0 time.Time) {
	if v != nil {
		v.to.Begin(influx.NewRunInfo(p, e, t0))
	}
}

func (v *view) add(f metric.Frame) {
	if v != nil {
		v.to.Add(f)
	}
}

func (v *view) close() {
	if v != nil {
		v.to.Close()
	}
}

// report reports when the server becomes unreachable and when it is back.
func (v *view) report() {
	if v == nil {
		return
	}
	switch trouble, recovered := v.to.StatusChange(); {
	case trouble != nil:
		v.note("the view is paused: " + withHint(trouble, " (%s)"))
	case recovered:
		v.note("the view is resumed")
	}
}

// complete writes the seconds that the view lacks, from the record if needed,
// and returns what remains missing as a limitation.
func (v *view) complete(ctx context.Context, w *record.Writer) (limitations []string) {
	if v == nil {
		return nil
	}
	ctx, cancel := extend(ctx, interruptedViewLimit, viewLimit)
	defer cancel()
	done := v.to.Finish(ctx, w.Replay)
	if done.Missing == 0 {
		v.report() // the server may have come back during Finish
		return nil
	}
	if done.Err != nil {
		v.note("the view is incomplete: " + withHint(done.Err, " (%s)"))
	}
	return []string{fmt.Sprintf("the view in InfluxDB is incomplete: %d of %d seconds were not written; assay influx push RUN fills it", done.Missing, done.Seconds)}
}
