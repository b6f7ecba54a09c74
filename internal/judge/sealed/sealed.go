// SPDX-License-Identifier: Apache-2.0

package sealed

import (
	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/judge/certificate/build"
	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/record"
)

// Result is a sealed record and its verdict.
type Result struct {
	Record  record.Run
	Verdict verdict.Verdict
}

// Certificate is the unsigned certificate of the result.
func (r Result) Certificate() certificate.Certificate { return build.Certificate(r.Record, r.Verdict) }

// Open reads a sealed run folder and judges it, offline.
func Open(dir string) (Result, error) {
	r, err := record.Open(dir)
	if err != nil {
		return Result{}, err
	}
	return Result{r, verdict.Judge(r)}, nil
}
