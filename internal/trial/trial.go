package trial

import (
	"context"

	"assay.dev/assay/internal/judge/certificate"
	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/run"
)

// Result is a sealed record and its verdict.
type Result struct {
	Record  record.Run
	Verdict verdict.Verdict
}

// Certificate is the unsigned certificate of the result.
func (r Result) Certificate() certificate.Certificate { return certificate.Build(r.Record, r.Verdict) }

// Open reads a sealed run folder and judges it, offline.
func Open(dir string) (Result, error) {
	r, err := record.Open(dir)
	if err != nil {
		return Result{}, err
	}
	return Result{r, verdict.Judge(r)}, nil
}

// Run makes one run, reports its progress, judges it, and writes the verdict to the
// view if there is one. It writes no certificate. A run that ctx interrupts under
// load has a result too; an error before the load leaves no folder.
func Run(ctx context.Context, o run.Options, p *Progress) (Result, error) {
	o.Progress = p.Report
	err := run.Run(ctx, o)
	p.End()
	if err != nil {
		return Result{}, err
	}
	result, err := Open(o.Dir)
	if err != nil {
		return Result{}, err
	}
	if o.View != nil {
		if err := showVerdict(ctx, o.View, result); err != nil {
			p.Note("the verdict was not written: " + err.Error())
		}
	}
	return result, nil
}
