package diagnose

import (
	"math"
	"strings"
	"testing"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/wait"
)

// others adds the sessions of another client to those of the load, which get a label too.
func others(client, digest, class string, sessions float64, calls func(second int64) float64) func(int64, string, []metric.Point) []metric.Point {
	return func(second int64, source string, points []metric.Point) []metric.Point {
		if source != "database" {
			return points
		}
		for i, p := range points {
			if p.Series.Name == metric.DBSession {
				points[i].Series.Labels = append(p.Series.Labels, metric.Label{Key: "client", Value: "app@10.0.0.2"})
			}
		}
		n := calls(second)
		if n == 0 {
			return points
		}
		return append(
			points,
			counterPoint(metric.DBSession, 10*sessions, "class", class, "event", "event of "+class, "client", client, "digest", digest),
			counterPoint(metric.DBStatements, n, "digest", digest, "statement", "INSERT INTO facts"),
			counterPoint(metric.DBStatementTime, 1000*sessions, "digest", digest, "statement", "INSERT INTO facts"),
		)
	}
}

func onlyInHold(second int64) float64 {
	if second < 0 {
		return 0
	}
	return 30
}

// The sessions of another client are not those of the load: neither their waits nor the
// time of their statements are part of a transaction.
func TestNeighbourIsToldApart(t *testing.T) {
	grown := with(healthy(), map[string]float64{Downstream: 300})
	alone := system{base: healthy(), hold: grown, noise: 0.1}.diagnosed()
	f := system{base: healthy(), hold: grown, noise: 0.1, frames: others("batch@10.0.0.9", "x", wait.Binlog, 8, onlyInHold)}.diagnosed()
	if f.Bottleneck.Component != Downstream {
		t.Errorf("%+v", f.Bottleneck)
	}
	for i, c := range alone.Split {
		if got := f.Split[i]; got.Component != c.Component || math.Abs(*got.MsPerTransaction-*c.MsPerTransaction) > 1e-6 {
			t.Errorf("%+v, without the other client %+v", got, c)
		}
	}
	found := false
	for _, w := range f.Waits {
		if w.Client == "" && w.MsPerTransaction == nil || w.Client != "" && (w.MsPerTransaction != nil || w.Class != wait.Binlog || w.AAS < 7.9 || w.AAS > 8.1) {
			t.Errorf("%+v", w)
		}
		found = found || w.Client == "batch@10.0.0.9"
	}
	if !found {
		t.Errorf("%+v", f.Waits)
	}
	for _, s := range f.Statements {
		if want := map[string]string{"x": "batch@10.0.0.9"}[s.Digest]; s.Client != want {
			t.Errorf("%+v", s)
		}
	}
}

// A neighbour is charged for the resource that it keeps busy.
func TestNeighbourIsNamed(t *testing.T) {
	binlog := with(healthy(), map[string]float64{wait.Binlog: 400})
	for name, c := range map[string]struct {
		w    system
		want string
	}{
		"of the binlog":              {system{hold: binlog, frames: others("batch", "x", wait.Binlog, 8, onlyInHold)}, Neighbour},
		"in another resource":        {system{hold: binlog, frames: others("batch", "x", wait.Engine, 8, onlyInHold), cpu: 0.5, queue: 0.1, idle: 1}, "binlog"},
		"that takes the CPU":         {system{hold: binlog, frames: others("batch", "x", wait.Engine, 8, onlyInHold), cpu: 1.9, queue: 6}, Neighbour},
		"that waits for locks":       {system{hold: binlog, frames: others("batch", "x", wait.RowLock, 8, onlyInHold)}, "binlog"},
		"of few sessions":            {system{hold: binlog, frames: others("batch", "x", wait.Binlog, 0.1, onlyInHold)}, "binlog"},
		"at the baseline too":        {system{hold: binlog, frames: others("batch", "x", wait.Binlog, 8, func(int64) float64 { return 1 })}, "binlog"},
		"an instance of the service": {system{hold: binlog, frames: others("app@10.0.0.3", "w", wait.Binlog, 8, onlyInHold)}, "binlog"},
	} {
		c.w.base, c.w.noise = healthy(), 0.1
		b := c.w.diagnosed().Bottleneck
		if b.Component != c.want {
			t.Errorf("%s: %+v", name, b)
		}
		if text := strings.Join(b.Evidence, " "); c.want == Neighbour && (b.Client != "batch" || !strings.Contains(b.Sentence, "neighbour, batch,") || !strings.Contains(text, "in the statement INSERT INTO facts")) {
			t.Errorf("%s: %+v", name, b)
		}
	}
}

// The holder of a row lock may be another client.
func TestRowLockOfANeighbour(t *testing.T) {
	w := system{base: healthy(), hold: with(healthy(), map[string]float64{wait.RowLock: 300}), noise: 0.1}
	w.frames = func(second int64, source string, points []metric.Point) []metric.Point {
		points = others("report@10.0.0.9", "x", wait.RowLock, 0.2, onlyInHold)(second, source, points)
		if source == "database" && second >= 0 {
			points = append(points, counterPoint(metric.DBBlocker, 9, "class", "idle", "event", "idle", "client", "report@10.0.0.9"))
		}
		return points
	}
	b := w.diagnosed().Bottleneck
	if says := "idle in an open transaction of report@10.0.0.9, another client of the database"; b.Component != "row lock" || !strings.Contains(strings.Join(b.Evidence, " "), says) {
		t.Errorf("%+v", b)
	}
}
