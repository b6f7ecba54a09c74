package build

import (
	"slices"
	"testing"
	"time"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/schematest"
	"assay.dev/assay/internal/testing/synthetic"
)

// Every run has a certificate that conforms to the schema, however short or many its
// judged windows are and whether samples violate SLOs or not.
func TestShortAndManyWindows(t *testing.T) {
	schema := schematest.Compile(t, schemaFile)
	systems := map[string]synthetic.System{
		"healthy": synthetic.Healthy,
		"mixed": func(n int64) (float64, string) {
			return 20 + float64(n%9/7)*400, metric.Outcomes[n%11/10]
		},
		"slow": func(int64) (float64, string) { return 600, metric.Completed },
	}
	for name, system := range systems {
		for _, holds := range [][]int{{1}, {2}, {3}, {4}, {5}, {9}, {39}, {1, 1, 1}, {3, 60}, slices.Repeat([]int{4}, 12), slices.Repeat([]int{10}, 25)} {
			p := synthetic.Profile()
			p.Flows[0].Load = spec.Load{Unit: "tps"}
			for i, s := range holds {
				p.Flows[0].Load.Stages = append(p.Flows[0].Load.Stages,
					spec.Stage{Rate: 10, For: time.Second}, spec.Stage{Rate: 20 + float64(i%2), For: time.Duration(s) * time.Second, Judge: true})
			}
			c := Of(synthetic.New(p, 1, system).Record())
			data, err := certificate.Marshal(c)
			if err != nil {
				t.Errorf("%s, windows of %v s: %v", name, holds, err)
				continue
			}
			t.Logf("%s, windows of %v s", name, holds)
			schematest.Validate(t, schema, data)
			if holds[0] < 4 && len(holds) == 1 && c.Verdict == "PASS" {
				t.Errorf("%s: %d s PASS", name, holds[0])
			}
		}
	}
}
