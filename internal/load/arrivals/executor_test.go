package arrivals

import (
	"testing"
	"time"

	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/executor"
)

// slowVU is a VU of a slow system: each iteration takes this long.
type slowVU time.Duration

func (v slowVU) RunOnce() error { time.Sleep(time.Duration(v)); return nil }

// newTestExecutor is an executor without a script.
func newTestExecutor(t *testing.T, p Parameters, vus uint64) *arrivalsExecutor {
	t.Helper()
	whole, err := lib.NewExecutionTuple(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &arrivalsExecutor{
		BaseExecutor: &executor.BaseExecutor{}, config: &executorConfig{Parameters: p},
		state: lib.NewExecutionState(&lib.TestRunState{}, whole, vus, vus), stripe: Whole,
	}
}
