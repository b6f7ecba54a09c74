package influx

import (
	"os"
	"strings"
	"testing"

	"assay.dev/assay/internal/observe/metric"
)

// The schema in the package documentation names every measurement, field and tag of the
// catalogue of metrics, and every gauge that an SLO may judge.
func TestDocumentation(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	measurements := map[string]string{} // text of the schema, by measurement
	name := ""
	for line := range strings.Lines(string(text)) {
		if of, ok := strings.CutPrefix(line, "//\t"); ok {
			if fields := strings.Fields(of); len(fields) > 0 && !strings.HasPrefix(of, " ") {
				name = fields[0]
			}
			measurements[name] += of
		}
	}
	for _, d := range metric.Catalogue(func(d metric.Descriptor) bool { return d.View != "" }) {
		measurement, field, _ := strings.Cut(d.View, ".")
		words := append([]string{field}, d.Labels...)
		if d.JudgedBySecond() {
			words = append(words, d.Name)
		}
		for _, word := range words {
			if !strings.Contains(measurements[measurement], word) {
				t.Errorf("%s: the schema has no %s in %s", d.Name, word, measurement)
			}
		}
	}
}
