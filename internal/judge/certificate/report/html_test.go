package report

import (
	"regexp"
	"slices"
	"testing"

	"golang.org/x/net/html"
	"pgregory.net/rapid"

	"assay.dev/assay/internal/judge/page"
	"assay.dev/assay/internal/testing/goldentest"
	"assay.dev/assay/internal/testing/pagetest"
)

func timeline(name string) Timeline { return NewTimeline(records()[name]) }

func pageOf(t testing.TB, name string) []byte {
	t.Helper()
	data, err := page.HTML(Full(example(name), timeline(name), ""))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// withoutParts removes the style and the script, which have their own files, and their
// digests, which the browser tests check.
func withoutParts(page []byte) []byte {
	page = regexp.MustCompile(`(?s)(<style>|<script>).*?(</style>|</script>)`).ReplaceAll(page, []byte("$1...$2"))
	return regexp.MustCompile(`sha256-([^&]|&#43;)*`).ReplaceAll(page, []byte("sha256-..."))
}

func TestHTMLGolden(t *testing.T) {
	for _, name := range names {
		goldentest.Compare(t, name+".html", withoutParts(pageOf(t, name)))
	}
}

// Whatever the texts of a certificate, its page has only our own elements, none of which
// loads anything.
func TestHTMLOfAnyCertificate(t *testing.T) {
	ordinary := pagetest.Elements(pagetest.HTML(t, pageOf(t, "fail")))
	curves := timeline("fail")
	rapid.Check(t, func(rt *rapid.T) {
		data, err := page.HTML(Full(anyCertificate(rt), curves, ""))
		if err != nil {
			rt.Fatal(err)
		}
		scripts := 0
		for n := range pagetest.HTML(rt, data).Descendants() {
			if n.Type != html.ElementNode {
				continue
			}
			if n.Data == "script" {
				scripts++
			}
			if !slices.Contains(ordinary, n.Data) {
				rt.Errorf("unexpected element %s", n.Data)
			}
			if found := pagetest.LoadingAttributes(n); len(found) > 0 {
				rt.Errorf("%s has %q", n.Data, found)
			}
		}
		if scripts != 2 {
			rt.Errorf("%d scripts", scripts)
		}
	})
}
