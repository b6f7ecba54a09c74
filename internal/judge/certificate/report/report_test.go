package report

import (
	"encoding/json"
	"sync"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/judge/certificate/build"
	"assay.dev/assay/internal/testing/synthetic"
)

// names of the synthetic cases.
var names = []string{"cluster", "fail", "invalid", "lost", "pass"}

// The records and certificates of the cases, which are expensive to make.
var (
	records      = sync.OnceValue(synthetic.Examples)
	certificates = sync.OnceValue(func() map[string][]byte {
		all := map[string][]byte{}
		for name, r := range records() {
			data, err := certificate.Marshal(build.Of(r))
			if err != nil {
				panic(err)
			}
			all[name] = data
		}
		return all
	})
)

// example is a fresh copy of a case's certificate, which the caller may change.
func example(name string) (c certificate.Certificate) {
	if err := json.Unmarshal(certificates()[name], &c); err != nil {
		panic(err)
	}
	return c
}

func pointer[T any](v T) *T { return &v }
