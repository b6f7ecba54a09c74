package run

import (
	"context"
	"fmt"
	"time"

	"assay/harness/hint"
	"assay/harness/observe/influx"
	"assay/harness/observe/record"
)

const (
	// viewLimit bounds the completion of the view at the end, interruptedViewLimit that
	// of a run that was interrupted: assay influx push does the rest.
	viewLimit            = 15 * time.Second
	interruptedViewLimit = time.Second
	// checkLimit bounds the look for the server before the load.
	checkLimit = 3 * time.Second
)

// openView gets ready to show the run in InfluxDB, if that is asked for. A
// server that is not there is none of the run's business, but worth a word.
func (r *run) openView(ctx context.Context) {
	if r.View == nil {
		return
	}
	r.view = influx.NewView(r.View)
	ctx, cancel := context.WithTimeout(ctx, checkLimit)
	defer cancel()
	r.view.Check(ctx)
	r.tellView()
}

// beginView starts the writing, once t0 is known.
func (r *run) beginView(e record.Environment) {
	if r.view != nil {
		r.view.Begin(influx.NewRunInfo(r.asked, e, r.t0))
	}
}

// tellView tells of the server when it goes away and when it is back.
func (r *run) tellView() {
	if r.view == nil {
		return
	}
	switch trouble, recovered := r.view.StatusChange(); {
	case trouble != nil:
		r.note("the view waits: " + withHint(trouble))
	case recovered:
		r.note("the view goes on")
	}
}

// completeView writes what the view lacks, from the record where need be, and
// tells what remains missing.
func (r *run) completeView(ctx context.Context) (limitations []string) {
	if r.view == nil {
		return nil
	}
	if r.failed != nil { // it shows no run that there is a record of
		r.view.Close()
		return nil
	}
	ctx, cancel := extend(ctx, interruptedViewLimit, viewLimit)
	defer cancel()
	done := r.view.Finish(ctx, r.writer.Replay)
	if done.Missing == 0 {
		r.tellView() // it may be back only now
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
