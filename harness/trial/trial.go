package trial

import (
	"context"

	"assay/harness/judge/certificate"
	"assay/harness/judge/verdict"
	"assay/harness/observe/record"
	"assay/harness/run"
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

// Run makes one run, tells its progress, judges it, and writes the verdict to the
// view where it has one. It writes no certificate. A run that ctx interrupted under
// load has a result too; an error before that leaves no folder.
func Run(ctx context.Context, o run.Options, p *Progress) (Result, error) {
	o.Progress = p.Tell
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
			p.Note("the verdict is not shown: " + err.Error())
		}
	}
	return result, nil
}
