package longrun

import (
	"path/filepath"
	"testing"
	"time"

	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/testing/metrictest"
)

// The synthetic frames agree with the catalogue, as those of real sources do.
func TestFramesFollowTheCatalogue(t *testing.T) {
	s := Shape{Workers: 1, Hold: time.Minute, Rate: 2000}
	w, c := s.NewWorker(0), newCollectors(s)
	metrictest.Check(t, append(w.Second(0, 2000), w.Close(1)...)...)
	metrictest.Check(t, append(c.second(0, 2000), c.close(1)...)...)
}

// The shares of all workers are the arrivals, and differ by one at most.
func TestShare(t *testing.T) {
	for arrivals := range int64(50) {
		for workers := 1; workers <= 7; workers++ {
			sum, least, most := int64(0), arrivals, int64(0)
			for i := range workers {
				share := Share(arrivals, i, workers)
				sum, least, most = sum+share, min(least, share), max(most, share)
			}
			if sum != arrivals || most-least > 1 {
				t.Errorf("%d arrivals of %d workers: shares of %d to %d, %d in all", arrivals, workers, least, most, sum)
			}
		}
	}
}

// What the simulated workers measure is not contradictory: a record of theirs is judged.
func TestRecordIsSound(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	s := Shape{Workers: 2, Hold: 10 * time.Second, Rate: 100}
	if err := s.Write(dir); err != nil {
		t.Fatal(err)
	}
	r, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Contradictions) > 0 {
		t.Errorf("%+v", r.Contradictions)
	}
}
