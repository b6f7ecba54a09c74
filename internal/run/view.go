package run

import (
	"context"
	"fmt"
	"time"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/observe/influx"
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

// openView prepares to show the run in InfluxDB, if requested. An unreachable
// server is reported, and does not stop the run.
func (r *run) openView(ctx context.Context) {
	if r.View == nil {
		return
	}
	r.view = influx.NewView(r.View)
	ctx, cancel := context.WithTimeout(ctx, checkLimit)
	defer cancel()
	r.view.Check(ctx)
	r.reportView()
}

// beginView starts to write to the view, once t0 is known.
func (r *run) beginView(e record.Environment) {
	if r.view != nil {
		r.view.Begin(influx.NewRunInfo(r.planned, e, r.t0))
	}
}

// reportView reports when the server becomes unreachable and when it is back.
func (r *run) reportView() {
	if r.view == nil {
		return
	}
	switch trouble, recovered := r.view.StatusChange(); {
	case trouble != nil:
		r.note("the view is paused: " + withHint(trouble))
	case recovered:
		r.note("the view is resumed")
	}
}

// completeView writes the seconds that the view lacks, from the record if needed,
// and returns what remains missing as a limitation.
func (r *run) completeView(ctx context.Context) (limitations []string) {
	if r.view == nil {
		return nil
	}
	if r.writeError != nil { // no complete record to fill the view from
		r.view.Close()
		return nil
	}
	ctx, cancel := extend(ctx, interruptedViewLimit, viewLimit)
	defer cancel()
	done := r.view.Finish(ctx, r.writer.Replay)
	if done.Missing == 0 {
		r.reportView() // the server may have come back during Finish
		return nil
	}
	if done.Err != nil {
		r.note("the view is incomplete: " + withHint(done.Err))
	}
	return []string{fmt.Sprintf("the view in InfluxDB is incomplete: %d of %d seconds were not written; assay influx push RUN fills it", done.Missing, done.Seconds)}
}

func withHint(err error) string {
	if next := hint.Of(err); next != "" {
		return fmt.Sprintf("%v (%s)", err, next)
	}
	return err.Error()
}
