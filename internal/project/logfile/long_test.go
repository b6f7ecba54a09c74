//go:build long

package logfile

import (
	"io"
	"testing"
	"time"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/project/model/traffic"
)

func TestLongManyEndpoints(t *testing.T) { manyEndpoints(t, 17*60) }

// For a log of several days with as many endpoints as can be, a shorter window is proposed,
// which works.
func TestLongManyDays(t *testing.T) {
	start := time.Date(2024, 5, 18, 2, 0, 0, 0, time.UTC)
	days := func(minutes int) io.Reader { return newSparse(start, 1000, minutes) }
	o := Options{Stdin: days(1450), Traffic: traffic.Options{Window: &traffic.Window{From: start.UnixMicro(), To: start.Add(48 * time.Hour).UnixMicro()}}}
	_, err := Observe(t.Context(), []string{Stdin}, o, time.UTC)
	const want, next = "10000 requests cannot be counted by the second: too many endpoints have too many minutes in 2024-05-18T02:00/2024-05-20T02:00", "choose a shorter time around the peak: --window 2024-05-18T02:00/2024-05-18T08:00"
	if err == nil || err.Error() != want || hint.Of(err) != next {
		t.Fatalf("%v: %s", err, hint.Of(err))
	}
	o.Stdin, o.Traffic.Window.To = days(370), start.Add(6*time.Hour).UnixMicro()
	if _, err := Observe(t.Context(), []string{Stdin}, o, time.UTC); err != nil {
		t.Error(err)
	}
}
