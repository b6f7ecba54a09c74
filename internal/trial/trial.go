package trial

import (
	"context"
	"time"

	"assay.dev/assay/internal/judge/sealed"
	"assay.dev/assay/internal/observe/influx"
	"assay.dev/assay/internal/run"
)

// Run makes one run, reports its progress, judges it, and writes the verdict to the
// view if there is one. It writes no certificate. A run that ctx interrupts under
// load has a result too; an error before the load leaves no folder.
func Run(ctx context.Context, o run.Options, p *Progress) (sealed.Result, error) {
	o.Progress = p.Report
	err := run.Run(ctx, o)
	p.End()
	if err != nil {
		return sealed.Result{}, err
	}
	result, err := sealed.Open(o.Dir)
	if err != nil {
		return sealed.Result{}, err
	}
	if o.View != nil {
		if err := showVerdict(ctx, o.View, result); err != nil {
			p.Note("the verdict was not written: " + err.Error())
		}
	}
	return result, nil
}

// verdictTimeout bounds the writing of the verdict as an event.
const verdictTimeout = 3 * time.Second

// Push writes every second of a judged run, and its verdict, to InfluxDB.
func Push(ctx context.Context, server *influx.Server, r sealed.Result, c *Console) error {
	about, printed := aboutOf(r), time.Now()
	return influx.Push(ctx, server, about, r.Record.Timeline, verdictEvent(about, r), func(done, of int) {
		if now := time.Now(); done == of || now.Sub(printed) >= time.Second {
			printed = now
			c.Say("influx: %d of %d seconds of %s written to %s", done, of, r.Record.Plan.Run, server)
		}
	})
}

// showVerdict writes the verdict as an event, also after ctx is done: an interrupted
// run has a verdict too.
func showVerdict(ctx context.Context, server *influx.Server, r sealed.Result) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), verdictTimeout)
	defer cancel()
	defer server.Close()
	return influx.WriteEvents(ctx, server, verdictEvent(aboutOf(r), r))
}

func aboutOf(r sealed.Result) influx.RunInfo {
	return influx.NewRunInfo(r.Record.Plan, r.Record.Environment, r.Record.Facts.T0)
}

func verdictEvent(a influx.RunInfo, r sealed.Result) []influx.Point {
	return influx.Verdict(a, r.Record.Facts.Ended, r.Verdict.Outcome.String(), r.Verdict.Claim)
}
