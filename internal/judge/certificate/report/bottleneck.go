// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/judge/diagnose"
	"assay.dev/assay/internal/judge/page"
	"assay.dev/assay/internal/quantity"
)

// bottleneckSummary names and explains the bottleneck.
func bottleneckSummary(c certificate.Certificate) page.Block {
	b := c.Bottleneck
	if b == nil {
		return page.Under("Bottleneck", page.Paragraph{Text: "no data: no transaction ran in the judged windows"})
	}
	return page.Under("Bottleneck", page.Paragraph{Text: bottleneckText(*b), State: page.Strong}, page.Paragraph{Text: b.Sentence})
}

// bottleneck adds the evidence, the experiments to confirm it, and the remedy.
func bottleneck(c certificate.Certificate) page.Block {
	s, b := bottleneckSummary(c).(page.Section), c.Bottleneck
	if b == nil {
		return s
	}
	if len(b.Evidence) > 0 {
		s.Blocks = append(s.Blocks, page.List{Items: b.Evidence, Limit: maxRows})
	}
	var next page.Facts
	if len(b.Confirm) > 0 {
		next = append(next, page.Fact{Name: "Confirm", Text: confirmation(b.Confirm)})
	}
	if b.Remedy != "" {
		next = append(next, page.Fact{Name: "Remedy", Text: b.Remedy})
	}
	if next != nil {
		s.Blocks = append(s.Blocks, next)
	}
	return s
}

// bottleneckText is the component with its confidence, and the runner-up.
func bottleneckText(b certificate.Bottleneck) string {
	text := b.Component
	if b.Component == diagnose.Undetermined {
		return text
	}
	if b.Confidence != nil {
		text += ", confidence " + quantity.Format(*b.Confidence, "share")
	}
	if b.RunnerUp != nil {
		text += fmt.Sprintf("; runner-up %s, %s", b.RunnerUp.Component, quantity.Optional(b.RunnerUp.GrowthMs, "ms"))
	}
	return text
}

// confirmation is the command that would confirm the bottleneck, and its alternatives.
func confirmation(experiments []string) string {
	command := "assay experiment scenarios/experiments/" + experiments[0] + ".json"
	if others := experiments[1:]; len(others) > 0 {
		command += "; or in that folder: " + strings.Join(others, ", ")
	}
	return command
}

// split is the time per transaction by component, and the sum.
func split(c certificate.Certificate) page.Block {
	const heading = "Time per transaction, ms"
	if c.Split == nil {
		return page.Under(heading, page.Paragraph{Text: "no data"})
	}
	t := page.Table{
		Columns: slices.Concat(page.Names("component"), page.Numbers("judged", "baseline", "change", "95 % interval"), []page.Column{{Name: "judged above, baseline below", Kind: page.Graph}}),
	}
	longest, all := 0.0, certificate.Split{Component: "all", MsPerTransaction: new(float64)}
	for _, part := range c.Split {
		judged, baseline := finite(part.MsPerTransaction), finite(part.BaselineMsPerTransaction)
		longest = max(longest, judged, baseline)
		*all.MsPerTransaction += judged
		if part.BaselineMsPerTransaction != nil {
			if all.BaselineMsPerTransaction == nil {
				all.BaselineMsPerTransaction = new(float64)
			}
			*all.BaselineMsPerTransaction += baseline
		}
	}
	parts := c.Split
	if len(parts) > maxRows {
		parts = parts[:maxRows]
	}
	for _, part := range append(slices.Clone(parts), all) {
		change := ""
		if part.MsPerTransaction != nil && part.BaselineMsPerTransaction != nil {
			change = quantity.Value(*part.MsPerTransaction-*part.BaselineMsPerTransaction, "ms")
		}
		row := page.Cells(part.Component, quantity.OptionalValue(part.MsPerTransaction, "ms"), quantity.OptionalValue(part.BaselineMsPerTransaction, "ms"),
			change, quantity.Range(part.Lower, part.Upper, "ms"), "")
		if longest > 0 && part.Component != all.Component {
			share := func(ms *float64) float64 { return max(0, finite(ms)) / longest }
			row[5].Graph = page.Bars{Upper: share(part.MsPerTransaction), Lower: share(part.BaselineMsPerTransaction)}
		}
		t.Rows = append(t.Rows, row)
	}
	return page.Under(heading, t, note("Means. Components are measured in different places and need not add up: the residual is the difference."))
}

func finite(v *float64) float64 {
	if v == nil || math.IsNaN(*v) || math.IsInf(*v, 0) {
		return 0
	}
	return *v
}
