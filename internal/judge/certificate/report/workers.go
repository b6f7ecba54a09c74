// SPDX-License-Identifier: Apache-2.0

package report

import (
	"slices"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/judge/page"
	"assay.dev/assay/internal/quantity"
)

// workers lists the workers of a fleet, with their pods if there are any. A single worker on
// the coordinator's own machine is described by the environment.
func workers(c certificate.Certificate) page.Block {
	fleet := c.Generator.Fleet
	if len(fleet) == 0 || len(fleet) == 1 && fleet[0].Host == c.Environment.Host.Name && fleet[0].Pod == "" {
		return nil
	}
	names := []string{"worker", "host"}
	inCluster := slices.ContainsFunc(fleet, func(w certificate.Worker) bool { return w.Pod != "" })
	if inCluster {
		names = append(names, "pod", "node")
	}
	t := page.Table{
		Columns: slices.Concat(page.Names(names...), page.Numbers("share", "transactions", "p95", "p99", "CPU", "host CPU", "lag p99", "start", "clock", "drift", "round trip", "frames")),
		Limit:   maxRows,
	}
	ms := func(v *float64) string { return quantity.OptionalValue(v, "ms") }
	for _, w := range fleet {
		where := []string{w.Worker, w.Host}
		if inCluster {
			where = append(where, w.Pod, w.Node)
		}
		numbers := page.Cells(
			quantity.Format(w.Share, "share"), quantity.Count(w.Transactions), ms(w.P95Ms), ms(w.P99Ms),
			quantity.Optional(w.CPUShare, "share"), quantity.Optional(w.HostCPUShare, "share"), ms(w.LagP99Ms), ms(w.StartDelayMs), ms(w.ClockOffsetMs), ms(w.ClockDriftMs), ms(w.RoundTripMs),
			frames(w),
		)
		if w.Unlike {
			numbers[2].State, numbers[3].State = page.Doubtful, page.Doubtful
		}
		t.Rows = append(t.Rows, append(page.Cells(where...), numbers...))
	}
	return page.Under("Workers", t, note(
		"Times in ms, over the judged windows. Share: of the schedule. p95 and p99 are of the worker's own transactions; those of the run are computed from all transactions together, not averaged. "+
			"CPU: k6's share of the CPUs that it may use. Host CPU: how busy its host, or node, was. Lag: by how much the worker itself started transactions late. Start: delay of its first one. "+
			"Clock: by how much its machine's clock is ahead of the coordinator's, corrected at the start; drift: what it changed by after that. "+
			"Round trip: to the coordinator and back. Frames: reports in the record.",
	))
}

// frames are those received, of those expected if some are missing.
func frames(w certificate.Worker) string {
	received, expected := quantity.Count(&w.FramesReceived), quantity.Count(w.FramesExpected)
	if received == expected {
		return received
	}
	return received + " of " + expected
}
