package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/harness/judge/certificate"
	"assay/harness/judge/compare"
	"assay/harness/judge/compare/comparetest"
	"assay/harness/judge/internal/plain"
)

var update = flag.Bool("update", false, "write the golden files anew")

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
	a, b := comparetest.Groups("ABBAABBAABBAABBAABBA", 1.25)
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
	add("unlike", a, b, compare.Options{Force: true})
	return all
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got; -update writes it anew):\n%s", name, diff)
	}
}

func TestGolden(t *testing.T) {
	for name, c := range comparisons(t) {
		t.Run(name, func(t *testing.T) {
			var text bytes.Buffer
			if err := Text(&text, c); err != nil {
				t.Fatal(err)
			}
			golden(t, name+".txt", text.Bytes())
			for line := range strings.Lines(text.String()) {
				line = strings.TrimSuffix(line, "\n")
				if plain.Width(line) > plain.Columns || strings.TrimRight(line, " ") != line || plain.Clean(line) != line {
					t.Errorf("line %q is %d wide", line, plain.Width(line))
				}
			}
			html, err := HTML(c)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, name+".html", html)
			checkPage(t, html)
			data, err := compare.Marshal(c)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, name+".json", data)
		})
	}
}

// checkPage holds a page to what it promises: elements that are closed, nothing
// that runs or is fetched.
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

func TestNumbers(t *testing.T) {
	for v, want := range map[float64]string{1: "1.000", 1.0304: "1.030", 0.0012: "0.0012", 1e-7: "1e-07", 123.4: "123", 2.5e7: "2.5e+07"} {
		if got := fixed(v); got != want {
			t.Errorf("ratio %g is %s, want %s", v, got, want)
		}
	}
	if got := ratio(nil) + interval(compare.Metric{}); got != "--" {
		t.Errorf("no data is %s", got)
	}
}
