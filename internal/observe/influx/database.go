package influx

import "assay.dev/assay/internal/observe/metric"

// sessions makes a point for each wait event, over all statements.
func (s *second) sessions() {
	samples, sampled := s.sum(metric.DBSample)
	var total fields
	total.add("samples", samples, sampled)
	s.add("db_session", total)
	for _, group := range s.groups(metric.DBSession, "event", "class", "inferred") {
		n, found := s.sum(metric.DBSession, group...)
		active := n / samples
		var f fields
		f.add("sessions", n, found)
		f.add("aas", active, found && samples > 0)
		f.ratio("ms_per_transaction", active*1000, s.started(), found && samples > 0)
		inferred := group[2].Value
		if inferred == "" {
			inferred = "false"
		}
		s.add("db_session", f, "event", group[0].Value, "class", group[1].Value, "inferred", inferred)
	}
}

func (s *second) statements() {
	for _, group := range s.groups(metric.DBStatementTime, "digest", "statement") {
		ms, found := s.sum(metric.DBStatementTime, group...)
		count, counted := s.sum(metric.DBStatements, group...)
		var f fields
		f.add("count", count, counted)
		f.add("ms", ms, found)
		f.ratio("mean", ms, count, found && counted)
		f.ratio("ms_per_transaction", ms, s.started(), found)
		s.add("db_statement", f, "digest", group[0].Value, "statement", group[1].Value)
	}
}
