package trial

import (
	"context"

	"assay.dev/assay/internal/judge/sealed"
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
