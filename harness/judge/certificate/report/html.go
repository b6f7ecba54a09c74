package report

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"

	"assay/harness/judge/certificate"
)

//go:embed assets
var assets embed.FS

// The page's own style and script, with uPlot's before them: one inline element
// each, so that the page needs nothing else, now or in ten years.
var (
	style  = asset("uplot/uPlot.min.css") + asset("page.css")
	script = "/* uPlot 1.6.32\n" + asset("uplot/LICENSE") + "*/\n" + asset("uplot/uPlot.iife.min.js") + asset("page.js")
	layout = template.Must(template.New("page.html.tmpl").ParseFS(assets, "assets/page.html.tmpl"))
)

// policy lets the page run and show what it brings along, by digest, and load
// or send nothing: a name in a certificate that slipped through as markup would
// still do nothing.
var policy = fmt.Sprintf("default-src 'none'; style-src '%s'; script-src '%s'; base-uri 'none'; form-action 'none'", digest(style), digest(script))

func asset(name string) string {
	data, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(err) // a file of the binary
	}
	return string(data)
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// HTML is the certificate as one page that needs nothing but itself, with the
// run's charts. Without JavaScript it lacks the charts alone.
func HTML(c certificate.Certificate, charts Charts) ([]byte, error) {
	var b bytes.Buffer
	err := layout.Execute(&b, map[string]any{
		"Policy": policy, "Style": template.CSS(style), "Script": template.JS(script), //nolint:gosec // our own files
		"Verdict": oneLine(c.Verdict), "Class": verdictClass(c.Verdict), "Title": title(c), "Claim": claim(c),
		"Signed": signed(c), "IsSigned": c.Signed,
		"Facts":  factsSection(c).bounded(),
		"Above":  []section{sloSection(c), brokenSection(c), bottleneckSection(c), splitSection(c)},
		"Charts": charts, "Drawn": len(charts.Seconds) > 0,
		"Below": []section{
			stagesSection(charts), latencySection(c), waitsSection(c), statementsSection(c), resourcesSection(c), ledgerSection(c),
			limitationsSection(c), rulesSection(c), environmentSection(c),
		},
		"Manifest": shorten(oneLine(c.Evidence.ManifestSHA256), mostCell),
	})
	if err != nil {
		return nil, fmt.Errorf("write HTML page: %w", err)
	}
	return b.Bytes(), nil
}

// verdictClass is how a verdict is painted.
func verdictClass(verdict string) string {
	switch verdict {
	case "PASS":
		return "good"
	case "FAIL":
		return "bad"
	}
	return "doubtful"
}

func (c cell) Class() string {
	switch {
	case c.Verdict:
		return verdictClass(c.Text)
	case c.Right:
		return "number"
	}
	return ""
}

// factsSection is what the certificate is of, by name and value.
func factsSection(c certificate.Certificate) section {
	window := fmt.Sprintf("%d s, from %s", c.Window.Seconds, c.Window.Start.UTC().Format("2006-01-02 15:04:05 UTC"))
	if c.Window.Count > 1 {
		window = fmt.Sprintf("%s on, in %d windows", window, c.Window.Count)
	}
	attempts := "not known"
	if c.Attempts != nil {
		attempts = fmt.Sprint(*c.Attempts)
	}
	return section{Rows: [][]cell{
		texts("target", c.Environment.Target), texts("judged", window), texts("run", c.Run), texts("attempts", attempts),
		texts("issued", day(c.Issued)), texts("expires", day(c.Expires)),
	}}
}

// environmentSection is where and with what the run took place.
func environmentSection(c certificate.Certificate) section {
	e, g := c.Environment, c.Generator
	s := section{ID: "environment", Heading: "Environment", Columns: headings("what", "value")}
	add := func(name, format string, args ...any) {
		s.Rows = append(s.Rows, texts(name, fmt.Sprintf(format, args...)))
	}
	add("generator's host", "%s, %s %s, %s, %d CPUs, %.1f GiB", e.Host.Name, e.Host.OS, e.Host.Kernel, e.Host.CPU, e.Host.CPUs, float64(e.Host.Memory)/(1<<30))
	add("on the same host", "%s", strings.Join(e.CoLocation, ", "))
	add("generator", "%d workers, busiest used %s of its CPUs, wake-up lag p99 %s, %d of %s frames received",
		g.Workers, measured(g.CPUShare, "share"), measured(g.WakeupLagP99Ms, "ms"), g.FramesReceived, whole(g.FramesExpected))
	add("tool", "assay %s, revision %s, changed %t, %s, k6 %s", e.Tool.Version, e.Tool.Revision, e.Tool.Dirty, e.Tool.Go, e.Tool.K6)
	add("seed", "%d", e.Seed)
	add(e.Thresholds.Path, "sha256 %s", e.Thresholds.SHA256)
	scripts, _ := first(e.Scripts)
	for _, f := range scripts {
		add(f.Path, "sha256 %s", f.SHA256)
	}
	if d := e.Database; d != nil {
		add("database", "%s %s", d.Flavour, d.Version)
		names, _ := first(slices.Sorted(maps.Keys(d.Variables)))
		for _, name := range names {
			add(name, "%s", d.Variables[name])
		}
	}
	return s.bounded()
}
