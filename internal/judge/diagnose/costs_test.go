package diagnose

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay.dev/assay/internal/observe/metric"
)

// Every cost that an experiment may name is measured, in the order in which costs are
// shown.
func TestCostsMatchTheCatalogue(t *testing.T) {
	var names []string
	for _, c := range costs {
		names = append(names, c.name)
	}
	if diff := cmp.Diff(metric.Costs, names); diff != "" {
		t.Error(diff)
	}
}
