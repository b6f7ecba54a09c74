package longrun

import (
	"testing"
	"time"

	"assay/harness/observe/metric/metrictest"
)

// The synthetic frames agree with the catalogue, as those of real sources do.
func TestFramesFollowTheCatalogue(t *testing.T) {
	s := Shape{Workers: 1, Hold: time.Minute, Rate: 2000}
	w, c := s.NewWorker(0), newCollectors(s)
	metrictest.Check(t, append(w.Second(0, 2000), w.Close(1)...)...)
	metrictest.Check(t, append(c.second(0, 2000), c.close(1)...)...)
}
