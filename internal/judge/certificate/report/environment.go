// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/judge/page"
	"assay.dev/assay/internal/quantity"
)

// environment describes the machine, the tool and the database of the run.
func environment(c certificate.Certificate) page.Block {
	e, g := c.Environment, c.Generator
	t := page.Table{Columns: []page.Column{{Name: "property", Kind: page.Name}, {Name: "value", Kind: page.Prose}}}
	add := func(name, format string, args ...any) {
		t.Rows = append(t.Rows, page.Cells(name, fmt.Sprintf(format, args...)))
	}
	add(hostRole(c), "%s, %s %s, %s, %d CPUs, %s", e.Host.Name, e.Host.OS, e.Host.Kernel, e.Host.CPU, e.Host.CPUs, quantity.Format(float64(e.Host.Memory), "By"))
	add("co-located", "%s", strings.Join(e.CoLocation, ", "))
	add("generator", "%d workers, busiest used %s of its CPUs, wake-up lag p99 %s, %d of %s frames received",
		g.Workers, quantity.Optional(g.CPUShare, "share"), quantity.Optional(g.WakeupLagP99Ms, "ms"), g.FramesReceived, quantity.Count(g.FramesExpected))
	for _, a := range g.Addresses[:min(len(g.Addresses), maxRows)] {
		of := a.Host + ", "
		if strings.Contains(a.Address, a.Host) {
			of = ""
		}
		if a.Resolved != nil && !*a.Resolved {
			of += "which it no longer had at the end, "
		}
		add("reached "+a.Address, "%s%s of its load, %d requests, %d connections, from %s", of, quantity.Format(a.Share, "share"), a.Requests, a.Connections, strings.Join(a.Workers[:min(len(a.Workers), 4)], ", "))
	}
	add("tool", "assay %s, revision %s, changed %t, %s, k6 %s", e.Tool.Version, e.Tool.Revision, e.Tool.Dirty, e.Tool.Go, e.Tool.K6)
	add("seed", "%d", e.Seed)
	add(e.Thresholds.Path, "sha256 %s", e.Thresholds.SHA256)
	for _, f := range e.Scripts[:min(len(e.Scripts), maxRows)] {
		add(f.Path, "sha256 %s", f.SHA256)
	}
	if d := e.Database; d != nil {
		add("database", "%s %s", d.Flavour, d.Version)
		names := slices.Sorted(maps.Keys(d.Variables))
		for _, name := range names[:min(len(names), maxRows)] {
			add(name, "%s", d.Variables[name])
		}
	}
	return page.Under("Environment", t)
}

// hostRole is what the described host was in the run.
func hostRole(c certificate.Certificate) string {
	if slices.ContainsFunc(c.Generator.Fleet, func(w certificate.Worker) bool { return w.Host != "" && w.Host != c.Environment.Host.Name }) {
		return "coordinator host"
	}
	return "generator host"
}

// verification explains how to verify the certificate.
func verification(c certificate.Certificate) page.Block {
	return page.Under(
		"How to verify this",
		page.Paragraph{Text: "This page is a view of certificate.json, which was computed from evidence/ in the same folder. To verify it, run:"},
		page.Code{
			"assay judge RUN                    # recomputes the verdict from the evidence",
			"assay verify RUN --key assay.pub   # checks signature, digests, expiry and verdict",
			"sha256sum RUN/evidence/manifest.json",
		},
		paragraph("The last command must print %s.", c.Evidence.ManifestSHA256),
	)
}
