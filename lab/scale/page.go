package scale

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay.dev/assay/internal/judge/page"
	"assay.dev/assay/internal/quantity"
)

// Page is the page of a scaling measurement.
func Page(d Document) page.Page {
	p := page.Page{Title: d.Profile + ": throughput by load", Source: "scale.json", Blocks: []page.Block{facts(d)}}
	if len(d.Losses) > 0 {
		p.Blocks = append(p.Blocks, page.Under("Lost, duplicated or inconsistent", page.List{Items: d.Losses, Limit: 20}))
	}
	most := 0.0
	for _, c := range d.Curves {
		for _, at := range c.Points {
			if at.TPS != nil {
				most = max(most, *at.TPS)
			}
		}
	}
	for _, c := range d.Curves {
		p.Blocks = append(p.Blocks, curveSection(c, most))
	}
	if slices.ContainsFunc(d.Ratios, func(r Ratio) bool { return r.Pairs > 0 }) {
		p.Blocks = append(p.Blocks, ratios(d))
	}
	return p
}

func facts(d Document) page.Facts {
	all := page.Facts{
		{Name: "Steps", Text: steps(d)},
	}
	if d.Database != "" {
		all = append(all, page.Fact{Name: "Database", Text: d.Database})
	}
	for _, v := range d.Variants {
		var env []string
		for _, key := range slices.Sorted(maps.Keys(v.Env)) {
			env = append(env, key+"="+v.Env[key])
		}
		text := v.Name
		if len(env) > 0 {
			text += ": " + strings.Join(env, ", ")
		}
		all = append(all, page.Fact{Name: "Variant", Text: text})
	}
	return append(all, page.Fact{
		Name: "Meaning",
		Text: "threads are the closed model, in which a slow system gets less load: its latencies omit stalls. Nothing here certifies a rate.",
	})
}

// steps says how many steps were made, of those that were asked for.
func steps(d Document) string {
	rounds := "one round"
	if d.Rounds != 1 {
		rounds = fmt.Sprintf("%d rounds", d.Rounds)
	}
	text := fmt.Sprintf("%d of %d, each of %s, in %s", len(d.Steps), len(d.Variants)*len(d.Points)*d.Rounds, quantity.Format(d.Seconds, "s"), rounds)
	if d.State != Done {
		text += ": " + d.State
	}
	return text
}

// curveSection is the table of a variant, with the throughput drawn.
func curveSection(c Curve, most float64) page.Block {
	t := page.Table{Columns: slices.Concat(
		page.Names("load"), page.Numbers("TPS", "least to most", "scaling", "p95 ms", "not completed"), page.Words("mostly waits for"),
		[]page.Column{{Name: "throughput", Kind: page.Graph}, {Name: "errors", Kind: page.Prose}},
	)}
	for _, p := range c.Points {
		row := page.Cells(p.String(), quantity.OptionalValue(p.TPS, ""), quantity.Range(p.LeastTPS, p.MostTPS, ""), quantity.OptionalValue(p.Scaling, "ratio"),
			quantity.OptionalValue(p.P95, "ms"), notCompleted(p), p.Wait, "", errorsText(p.Errors))
		if p.TPS != nil && most > 0 {
			row[7].Graph = page.Bars{Upper: *p.TPS / most}
		}
		t.Rows = append(t.Rows, row)
	}
	s := page.Under(c.Variant, t)
	if c.Law != nil {
		s.Blocks = append(s.Blocks, page.Paragraph{Text: law(*c.Law), State: page.Quiet})
	}
	return s
}

// notCompleted is no data where no step was made.
func notCompleted(p CurvePoint) string {
	if p.Steps == 0 {
		return quantity.NoData
	}
	return fmt.Sprint(p.NotCompleted)
}

func errorsText(of map[string]int64) string {
	var all []string
	for _, class := range slices.Sorted(maps.Keys(of)) {
		all = append(all, fmt.Sprintf("%s %d", class, of[class]))
	}
	return strings.Join(all, ", ")
}

// law is the fit of the Universal Scalability Law, in words.
func law(l Law) string {
	text := fmt.Sprintf("Advice: the Universal Scalability Law with %s/s for one thread, contention %s and coherence %s fits with a deviation of %s",
		quantity.Format(l.Lambda, ""), quantity.Format(l.Sigma, "ratio"), quantity.Format(l.Kappa, "ratio"), quantity.Format(l.Error, "share"))
	if l.PeakAt != nil {
		return text + fmt.Sprintf(": throughput would be highest with %.0f threads, at %s/s.", *l.PeakAt, quantity.Format(*l.Peak, ""))
	}
	return text + ": it has no peak."
}

// ratios compares the variants with the first one.
func ratios(d Document) page.Block {
	t := page.Table{Columns: slices.Concat(page.Names("variant", "load"), page.Numbers("ratio", "95 % interval", "pairs", "p"))}
	for _, r := range d.Ratios {
		if r.Pairs == 0 {
			continue
		}
		load := r.String()
		if r.Point == (Point{}) {
			load = "all loads"
		}
		t.Rows = append(t.Rows, page.Cells(r.Variant, load, quantity.OptionalValue(r.Ratio, "ratio"), quantity.Range(r.Lower, r.Upper, "ratio"), fmt.Sprint(r.Pairs), quantity.OptionalValue(r.P, "")))
	}
	return page.Under("Throughput relative to "+d.Variants[0].Name, t, page.Paragraph{
		Text: "The median of the ratios of steps of one round. An interval needs six pairs.", State: page.Quiet,
	})
}
