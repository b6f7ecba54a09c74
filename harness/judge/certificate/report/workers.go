package report

import (
	"slices"

	"assay/harness/judge/certificate"
	"assay/harness/judge/page"
	"assay/harness/quantity"
)

// workers lists the workers of a fleet. A single worker on the coordinator's own machine
// is described by the environment.
func workers(c certificate.Certificate) []page.Block {
	fleet := c.Generator.Fleet
	if len(fleet) == 0 || len(fleet) == 1 && fleet[0].Host == c.Environment.Host.Name {
		return nil
	}
	t := page.Table{
		Columns: slices.Concat(page.Names("worker", "host"), page.Numbers("share", "transactions", "p95", "p99", "CPU", "lag p99", "start", "clock", "drift", "round trip", "frames")),
		Limit:   maxRows,
	}
	ms := func(v *float64) string { return quantity.OptionalValue(v, "ms") }
	for _, w := range fleet {
		row := page.Cells(w.Worker, w.Host, quantity.Format(w.Share, "share"), quantity.Count(w.Transactions), ms(w.P95Ms), ms(w.P99Ms),
			quantity.Optional(w.CPUShare, "share"), ms(w.LagP99Ms), ms(w.StartDelayMs), ms(w.ClockOffsetMs), ms(w.ClockDriftMs), ms(w.RoundTripMs),
			frames(w))
		if w.Unlike {
			row[4].State, row[5].State = page.Doubtful, page.Doubtful
		}
		t.Rows = append(t.Rows, row)
	}
	return []page.Block{section("Workers", t, note(
		"Times in ms, over the judged windows. Share: of the schedule. p95 and p99 are of the worker's own transactions; those of the run are computed from all transactions together, not averaged. "+
			"CPU: k6's share of the CPUs that it may use. Lag: by how much the worker itself started transactions late. Start: delay of its first one. "+
			"Clock: by how much its machine's clock is ahead of the coordinator's, corrected at the start; drift: what it changed by after that. "+
			"Round trip: to the coordinator and back. Frames: reports in the record.",
	))}
}

// frames are those received, of those expected if some are missing.
func frames(w certificate.Worker) string {
	received, expected := quantity.Count(&w.FramesReceived), quantity.Count(w.FramesExpected)
	if received == expected {
		return received
	}
	return received + " of " + expected
}
