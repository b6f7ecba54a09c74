package longrun

import (
	"testing"
	"time"

	"assay/harness/observe/metric/metrictest"
)

// The synthetic frames agree with the catalogue, as those of real sources do.
func TestFramesFollowTheCatalogue(t *testing.T) {
	p := Shape{Workers: 1, Hold: time.Minute, Rate: 2000}.profile()
	w, c := newWorker(0, p), newCollectors(1)
	metrictest.Check(t, append(w.second(0, 2000), w.close(1)...)...)
	metrictest.Check(t, append(c.second(0, 2000), c.close(1)...)...)
}
