package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/document"
	"assay.dev/assay/internal/judge/compare"
	"assay.dev/assay/internal/judge/page"
	"assay.dev/assay/internal/testing/comparetest"
	"assay.dev/assay/internal/testing/goldentest"
)

func comparisons(t *testing.T) map[string]compare.Comparison {
	t.Helper()
	all := map[string]compare.Comparison{}
	add := func(name string, a, b compare.Group, o compare.Options) {
		o.Tolerance = 0.03
		c, err := compare.Compare(a, b, o)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all[name] = c
	}
	a, b := comparetest.Groups("ABBABAABBAABABABBAAB", 1.25)
	add("slower", a, b, compare.Options{})
	add("faster", b, a, compare.Options{Metrics: []string{compare.Transaction}})

	a, b = comparetest.Groups("AB", 2)
	add("single", a, b, compare.Options{})

	a, b = comparetest.Groups("AAAAAABBBBBB", 1000)
	for i := range b.Runs {
		c := &b.Runs[i].Certificate
		c.Profile, c.Environment.Target = "<script>alert(1)</script>", "http://b\x1b[31m"
		c.Latency = map[string]certificate.Latency{
			"transaction": c.Latency["transaction"],
			"\x1b]0;title\x07POST /a/very/long/path/of/an/endpoint": c.Latency["pay"],
		}
	}
	b.LeftOut = []compare.LeftOut{{Folder: "runs/b/unsealed", Reason: "the record is not sealed: the run did not come to its end"}}
	add("different", a, b, compare.Options{Force: true})
	return all
}

func TestGolden(t *testing.T) {
	for name, c := range comparisons(t) {
		t.Run(name, func(t *testing.T) {
			text := page.Terminal(Summary(c), page.Columns, false)
			goldentest.Compare(t, name+".txt", text)
			for line := range strings.Lines(string(text)) {
				line = strings.TrimSuffix(line, "\n")
				if page.Width(line) > page.Columns || strings.TrimRight(line, " ") != line || page.Clean(line) != line {
					t.Errorf("line %q is %d wide", line, page.Width(line))
				}
			}
			html, err := page.HTML(Full(c))
			if err != nil {
				t.Fatal(err)
			}
			goldentest.Compare(t, name+".html", withoutStyle(html))
			checkPage(t, html)
			data, err := document.Marshal(c)
			if err != nil {
				t.Fatal(err)
			}
			goldentest.Compare(t, name+".json", data)
		})
	}
}

// checkPage fails if a page has elements that are not closed, or anything that runs or is
// fetched.
func checkPage(t *testing.T, html []byte) {
	t.Helper()
	for _, bad := range []string{"<script", "src=", "href=", "url(", "ZgotmplZ", "NaN", "Inf"} {
		if bytes.Contains(html, []byte(bad)) {
			t.Errorf("the page has %s", bad)
		}
	}
	if len(html) > 64<<10 {
		t.Errorf("the page has %d bytes", len(html))
	}
	d := xml.NewDecoder(bytes.NewReader(html))
	d.Strict, d.AutoClose, d.Entity = false, []string{"meta"}, xml.HTMLEntity
	open := 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token.(type) {
		case xml.StartElement:
			open++
		case xml.EndElement:
			open--
		}
	}
	if open != 0 {
		t.Errorf("%d elements are not closed", open)
	}
}

// withoutStyle removes the style, which has its own file, and its digest.
func withoutStyle(page []byte) []byte {
	page = regexp.MustCompile(`(?s)<style>.*?</style>`).ReplaceAll(page, []byte("<style>...</style>"))
	return regexp.MustCompile(`sha256-([^&]|&#43;)*`).ReplaceAll(page, []byte("sha256-..."))
}

// Values off the axis are drawn at its end, and missing ones not at all.
func TestIntervals(t *testing.T) {
	at := func(v float64) *float64 { return &v }
	c := compare.Comparison{Tolerance: 0.03, Metrics: []compare.Metric{
		{Ratio: at(1), Lower: at(0.5), Upper: at(2)}, {Ratio: at(1e6), Lower: at(1e-6), Upper: at(1e7)}, {},
	}}
	table, ok := Metrics(c)[0].(page.Table)
	if !ok {
		t.Fatal("no table comes first")
	}
	for i, want := range []string{"0.42 0.50 0.58", "0.00 1.00 1.00", "- - -"} {
		drawn, ok := table.Rows[i][6].Graph.(page.Interval)
		if !ok {
			t.Fatalf("row %d has no interval", i)
		}
		var got []string
		for _, v := range []*float64{drawn.From, drawn.Value, drawn.To} {
			if v == nil {
				got = append(got, "-")
			} else {
				got = append(got, fmt.Sprintf("%.2f", *v))
			}
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("row %d: %s, want %s", i, text, want)
		}
	}
}
