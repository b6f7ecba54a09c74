package model

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"assay.dev/assay/internal/project/model/accesslog"
	"assay.dev/assay/internal/project/model/route"
	"assay.dev/assay/internal/project/model/traffic"
)

// endpointsOf reads "1000 GET /a/{id}" a line.
func endpointsOf(t *testing.T, text string) (all []*traffic.Endpoint) {
	t.Helper()
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		var n uint64
		var method, path string
		if _, err := fmt.Sscan(line, &n, &method, &path); err != nil {
			t.Fatal(err)
		}
		e := &traffic.Endpoint{Requests: n}
		for e.Method.String() != method {
			if e.Method++; e.Method == accesslog.OTHER {
				t.Fatal(method)
			}
		}
		for segment := range strings.SplitSeq(path[1:], "/") {
			s := traffic.Segment{Literal: segment}
			if segment == "{id}" {
				s = traffic.Segment{Kind: route.Number}
			}
			e.Segments = append(e.Segments, s)
		}
		all = append(all, e)
	}
	return all
}

func TestFlowGroups(t *testing.T) {
	for _, c := range []struct {
		name, endpoints string
		want            []string
	}{
		{"below a common prefix", `
			600 GET /api/v1/products/{id}
			300 GET /api/v1/products
			200 GET /api/v1/users/{id}/orders
			50 POST /api/v1/orders
			20 GET /`, []string{"900 GET /api/v1/products", "200 GET /api/v1/users", "50 POST /api/v1/orders", "20 GET /"}},
		{"a large group is divided where names differ", `
			500 GET /shop/search
			400 GET /shop/cart/{id}
			10 GET /shop/cart/{id}/total
			300 GET /shop/{id}
			300 GET /img/{id}`, []string{"500 GET /shop/search", "410 GET /shop/cart", "300 GET /img", "300 GET /shop"}},
		{"a small one is not", `
			80 GET /a/one
			20 GET /a/two
			900 GET /b`, []string{"900 GET /b", "100 GET /a"}},
		{"at most six, two of which write, and what is left", `
			900 GET /a
			800 GET /b
			700 GET /c
			600 GET /d
			500 GET /e
			400 GET /f
			300 HEAD /a
			20 POST /a
			10 PUT /a
			8 DELETE /a
			5 PATCH /a`, []string{"900 GET /a", "800 GET /b", "700 GET /c", "600 GET /d", "20 POST /a", "10 PUT /a", "1200 rest /e /f /a", "13 writes /a /a"}},
		{"small shares are left, but not of methods that write", `
			10000 GET /a
			99 GET /b
			12 POST /c
			5 DELETE /d`, []string{"10000 GET /a", "12 POST /c", "99 rest /b", "5 writes /d"}},
		{"only root", `7 GET /`, []string{"7 GET /"}},
		{"only identifiers", `
			7 GET /{id}
			3 GET /{id}/{id}`, []string{"10 GET /"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			flows, reads, writes := flowGroups(endpointsOf(t, c.endpoints))
			var got []string
			for _, g := range flows {
				got = append(got, fmt.Sprintf("%d %s %s", g.requests, g.method, g.path()))
			}
			for name, g := range map[string]*group{"rest": reads, "writes": writes} {
				if g == nil {
					continue
				}
				line := fmt.Sprintf("%d %s", g.requests, name)
				for _, e := range g.endpoints {
					line += " " + e.Template()
				}
				got = append(got, line)
			}
			if len(got) > 1 && strings.Contains(got[len(got)-2], "writes") { // the order of a map
				got[len(got)-1], got[len(got)-2] = got[len(got)-2], got[len(got)-1]
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestNames(t *testing.T) {
	flows, endpoints := names{separator: '-', longest: longestFlowName}, names{separator: '_', longest: longestEndpointName}
	for _, c := range []struct {
		of          *names
		want, words string
	}{
		{&flows, "get-api-v1", "GET api v1"},
		{&flows, "get-api-v1-2", "GET api.v1"},
		{&flows, "get-api-v1-3", "GET api:v1"},
		{&endpoints, "get_a_id_b", "GET a {id} b"},
		{&flows, "get-v1-customer-accounts", "GET v1 customer-accounts"},
		{&flows, "get-accounts-preferences", "GET api v1 customer-accounts preferences"},
		{&flows, "get-accounts-preferences-2", "GET api v2 customer-accounts preferences"},
		{&endpoints, "get_api_v1_customer_accounts_preferences", "GET api v1 customer-accounts preferences"},
		{&flows, "get-" + strings.Repeat("a", 28), "GET " + strings.Repeat("a", 60)},
		{&flows, "get-" + strings.Repeat("a", 26) + "-2", "GET api " + strings.Repeat("a", 60)},
		{&endpoints, "get_" + strings.Repeat("a", 44), "GET " + strings.Repeat("a", 60)},
	} {
		if got := c.of.of(strings.Fields(c.words)...); got != c.want {
			t.Errorf("%s: %s, want %s", c.words, got, c.want)
		}
	}
}

// Names of flows are those that thresholds.json takes, and those of endpoints are keys of an
// object in a script, whatever the paths; none is given twice.
func TestNamesAreValid(t *testing.T) {
	flow, key := regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$`), regexp.MustCompile(`^[a-z][a-z0-9_]{0,47}$`)
	rapid.Check(t, func(rt *rapid.T) {
		flows, endpoints := names{separator: '-', longest: longestFlowName}, names{separator: '_', longest: longestEndpointName}
		seen := map[string]bool{}
		segment := rapid.OneOf(rapid.StringMatching("[a-z]{1,4}"), rapid.StringMatching("[A-Za-z0-9._~:-]{1,48}"))
		for _, path := range rapid.SliceOfN(rapid.SliceOfN(segment, 0, 6), 1, 40).Draw(rt, "paths") {
			path = append([]string{rapid.SampledFrom([]string{"GET", "OPTIONS", "DELETE"}).Draw(rt, "method")}, path...)
			f, e := flows.of(path...), endpoints.of(path...)
			if !flow.MatchString(f) || !key.MatchString(e) || seen["flow "+f] || seen["endpoint "+e] {
				rt.Fatalf("%s is named %q and %q", path, f, e)
			}
			seen["flow "+f], seen["endpoint "+e] = true, true
		}
	})
}
