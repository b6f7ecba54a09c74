package assay_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every link of a page leads to a file of the repository and, if it names a section, to a
// heading there. The README is short enough to be read whole, and leads to every chapter.
func TestLinks(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, page := range append(pages, "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		texts[page] = string(text)
	}
	link, notAnchor := regexp.MustCompile(`\]\(([^)#:\s]*)(?:#([^)\s]+))?\)`), regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	for page, text := range texts {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			to := page
			if m[1] != "" {
				to = filepath.Join(filepath.Dir(page), m[1])
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: %v", page, err)
			}
			anchors := map[string]bool{"": true}
			for line := range strings.Lines(texts[to]) {
				if _, heading, found := strings.Cut(strings.TrimLeft(line, "#"), " "); found && strings.HasPrefix(line, "#") {
					anchors[strings.ReplaceAll(notAnchor.ReplaceAllString(strings.ToLower(strings.TrimSpace(heading)), ""), " ", "-")] = true
				}
			}
			if !anchors[m[2]] {
				t.Errorf("%s: %s has no heading #%s", page, to, m[2])
			}
		}
	}
	readme := texts["README.md"]
	if lines := strings.Count(readme, "\n"); lines > 150 {
		t.Errorf("the README has %d lines", lines)
	}
	for _, page := range pages {
		if !strings.Contains(readme, "("+page+")") {
			t.Errorf("the README does not lead to %s", page)
		}
	}
}
