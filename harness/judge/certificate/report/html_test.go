package report

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"pgregory.net/rapid"

	"assay/harness/judge/page"
)

func timeline(name string) Timeline { return NewTimeline(records()[name]) }

func pageOf(t testing.TB, name string) []byte {
	t.Helper()
	data, err := page.HTML(Full(example(name), timeline(name)))
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
		golden(t, name+".html", withoutParts(pageOf(t, name)))
	}
}

// attributes through which a page could load, run or link to something.
var attributes = []string{"src", "href", "srcset", "action", "formaction", "data", "style", "poster", "background", "ping"}

// Whatever the texts of a certificate, its page has only our own elements, none of which
// loads anything.
func TestHTMLOfAnyCertificate(t *testing.T) {
	root, err := html.Parse(bytes.NewReader(pageOf(t, "fail")))
	if err != nil {
		t.Fatal(err)
	}
	ordinary := elements(root)
	curves := timeline("fail")
	rapid.Check(t, func(rt *rapid.T) {
		data, err := page.HTML(Full(anyCertificate(rt), curves))
		if err != nil {
			rt.Fatal(err)
		}
		root, err := html.Parse(bytes.NewReader(data))
		if err != nil {
			rt.Fatal(err)
		}
		scripts := 0
		for n := range root.Descendants() {
			if n.Type != html.ElementNode {
				continue
			}
			if n.Data == "script" {
				scripts++
			}
			if !slices.Contains(ordinary, n.Data) {
				rt.Errorf("unexpected element %s", n.Data)
			}
			for _, a := range n.Attr {
				if slices.Contains(attributes, a.Key) || strings.HasPrefix(a.Key, "on") {
					rt.Errorf("%s has %s=%q", n.Data, a.Key, a.Val)
				}
			}
		}
		if scripts != 2 {
			rt.Errorf("%d scripts", scripts)
		}
	})
}
