package twowriters

import (
	"assay.dev/assay/certificate"
	certificates "assay.dev/assay/internal/judge/certificate/report"
	"assay.dev/assay/internal/judge/page"
	"assay.dev/assay/lab/reproduce"
	"assay.dev/assay/lab/scale/report"
)

// Page is the page of the measurement.
func Page(d Document) page.Page {
	p := page.Page{Title: "Two writers: scaling, stale reads, connections, failover"}
	if len(d.Problems) > 0 {
		p.Blocks = append(p.Blocks, reproduce.Section("Not measured", page.List{Items: d.Problems}))
	}
	if d.Scale != nil {
		p.Blocks = append(p.Blocks, reproduce.Section("Scaling (TPC-C-like, unaudited)", report.Page(*d.Scale).Blocks...))
	}
	for _, c := range d.Certificates {
		p.Blocks = append(p.Blocks, part(c))
	}
	return p
}

// part is the section of one certified profile.
func part(c certificate.Certificate) page.Block {
	switch c.Profile {
	case profileStaleReads:
		return reproduce.Section(
			"Stale reads: written on a, read on b", reproduce.SLOTable(c, "stale_reads"),
			reproduce.LatencyTable(c, "visible_after", "write_time", "read_time"), reproduce.Verdict(c),
		)
	case profileConnections:
		return reproduce.Section("Connections: open, first query, close", reproduce.LatencyTable(c, "connection_"), reproduce.Verdict(c))
	case profileDirect:
		return reproduce.Section("Failover, directly: a is killed, and comes back", append(certificates.Faults(c), reproduce.Verdict(c))...)
	case profileProxied:
		return reproduce.Section("Failover, through HAProxy: a is killed, and comes back", append(certificates.Faults(c), reproduce.Verdict(c))...)
	}
	return reproduce.Section(c.Profile, reproduce.Verdict(c))
}
