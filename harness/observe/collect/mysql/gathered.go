package mysql

import "assay/harness/observe/metric"

// gathered is what one second's frame will hold.
type gathered struct {
	samples  int
	sessions map[sessionKey]int
	interval metric.Hist // ms between samples
	took     metric.Hist // ms that a sample took
	points   []metric.Point
}

type sessionKey struct {
	event, class, digest string
	inferred             bool
}

// add counts the sessions of one sample.
func (g *gathered) add(sessions []active, labels digests) {
	g.samples++
	if g.sessions == nil {
		g.sessions = map[sessionKey]int{}
	}
	for _, s := range sessions {
		key := sessionKey{digest: labels.label(s.label())}
		key.event, key.class, key.inferred = Classify(s.Session)
		g.sessions[key]++
	}
}

// label is the digest of what the session runs.
func (s active) label() string {
	switch {
	case !s.MariaDB:
		return s.digest
	case s.digest == "" && s.Statement == "statement/"+preparedExecute:
		return preparedExecute
	}
	return textDigest(s.digest)
}

// take returns the points and begins anew. A second without samples says so.
func (g *gathered) take() []metric.Point {
	full := *g
	*g = gathered{}
	return full.all()
}

func (g *gathered) all() []metric.Point {
	points := append(g.points, metric.CounterPoint(metric.NewSeries(metric.DBSample, ""), float64(g.samples)))
	if g.interval.Count() > 0 {
		points = append(points, metric.HistPoint(metric.NewSeries(metric.DBSampleInterval, "ms"), &g.interval))
	}
	if g.took.Count() > 0 {
		points = append(points, metric.HistPoint(metric.NewSeries(metric.DBSampleTime, "ms"), &g.took))
	}
	for key, n := range g.sessions {
		inferred := ""
		if key.inferred {
			inferred = "true"
		}
		points = append(points, metric.CounterPoint(metric.NewSeries(metric.DBSession, "",
			"event", key.event, "class", key.class, "inferred", inferred, "digest", key.digest), float64(n)))
	}
	return points
}
