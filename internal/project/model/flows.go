package model

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"assay.dev/assay/internal/project/model/accesslog"
	"assay.dev/assay/internal/project/model/route"
	"assay.dev/assay/internal/project/model/traffic"
)

// How endpoints are divided into flows.
const (
	// mostFlows is the number of flows but for what is left. placesForWrites of them are for
	// methods that write, if there are such: they decide over money and orders, and are few.
	mostFlows, placesForWrites = 6, 2
	// A flow has at least this share of the requests, one that writes a smaller one.
	leastShare, leastWriteShare = 0.01, 0.001
	// divided is the share of the requests from which on a group of endpoints is divided by
	// the next segment of their paths.
	divided = 0.3
	// scripted is the number of endpoints that a script has at most.
	scripted = 50
)

// group is endpoints of one method whose paths begin alike.
type group struct {
	method    accesslog.Method
	prefix    []string
	endpoints []*traffic.Endpoint
	requests  uint64
	whole     bool // it is not divided further
}

// groupBy divides endpoints by what begins their paths.
func groupBy(endpoints []*traffic.Endpoint, of func(*traffic.Endpoint) (prefix []string, whole bool)) (groups []*group) {
	known := map[string]*group{}
	for _, e := range endpoints {
		prefix, whole := of(e)
		key := e.Method.String() + "/" + strings.Join(prefix, "/")
		g := known[key]
		if g == nil {
			g = &group{method: e.Method, prefix: prefix}
			known[key] = g
			groups = append(groups, g)
		}
		g.whole = g.whole || whole
		g.endpoints = append(g.endpoints, e)
		g.requests += e.Requests
	}
	return groups
}

// divide divides a group by the next segment, where that is a literal; what has a placeholder
// there, or ends before, stays together.
func (g *group) divide() []*group {
	depth := len(g.prefix)
	return groupBy(g.endpoints, func(e *traffic.Endpoint) ([]string, bool) {
		if len(e.Segments) <= depth || e.Segments[depth].Kind != route.Literal || e.Segments[depth].Literal == "" {
			return g.prefix, true
		}
		return append(slices.Clone(g.prefix), e.Segments[depth].Literal), false
	})
}

// extend adds a segment to the prefix, if all endpoints have the same there.
func (g *group) extend() bool {
	depth := len(g.prefix)
	for _, e := range g.endpoints {
		if len(e.Segments) <= depth || e.Segments[depth] != g.endpoints[0].Segments[depth] || e.Segments[depth].Literal == "" {
			return false
		}
	}
	g.prefix = append(slices.Clone(g.prefix), g.endpoints[0].Segments[depth].Literal)
	return true
}

// flowGroups divides endpoints into flows, and what is left of safe methods and of those
// that write.
func flowGroups(endpoints []*traffic.Endpoint) (flows []*group, reads, writes *group) {
	total := uint64(0)
	for _, e := range endpoints {
		total += e.Requests
	}
	groups := groupBy(endpoints, func(e *traffic.Endpoint) ([]string, bool) { return nil, false })
	for i := 0; i < len(groups); { // all are divided by the first segment at least
		if g := groups[i]; g.whole || len(g.prefix) > 0 && float64(g.requests) < divided*float64(total) {
			i++
		} else {
			groups = slices.Replace(groups, i, i+1, g.divide()...)
		}
	}
	for _, g := range groups {
		for g.extend() {
		}
	}
	slices.SortStableFunc(groups, func(a, b *group) int {
		return cmp.Or(cmp.Compare(b.requests, a.requests), cmp.Compare(strings.Join(a.prefix, "/"), strings.Join(b.prefix, "/")), cmp.Compare(a.method, b.method))
	})
	chosen := map[*group]bool{}
	choose := func(most int, can func(g *group) bool) {
		for _, g := range groups {
			if len(chosen) < most && !chosen[g] && can(g) {
				chosen[g] = true
			}
		}
	}
	choose(placesForWrites, func(g *group) bool {
		return !g.method.Safe() && float64(g.requests) >= leastWriteShare*float64(total)
	})
	choose(mostFlows, func(g *group) bool {
		return float64(g.requests) >= leastShare*float64(total) || !g.method.Safe() && float64(g.requests) >= leastWriteShare*float64(total)
	})
	for _, g := range groups {
		switch {
		case chosen[g]:
			flows = append(flows, g)
		case g.method.Safe():
			reads = reads.with(g)
		default:
			writes = writes.with(g)
		}
	}
	return flows, reads, writes
}

// with is what is left, nil or not, with one more group.
func (g *group) with(more *group) *group {
	all := &group{method: more.method, endpoints: slices.Clone(more.endpoints), requests: more.requests}
	if g != nil {
		all.endpoints, all.requests = append(slices.Clone(g.endpoints), all.endpoints...), all.requests+g.requests
	}
	slices.SortStableFunc(all.endpoints, func(a, b *traffic.Endpoint) int { return cmp.Compare(b.Requests, a.Requests) })
	return all
}

func (g *group) path() string { return "/" + strings.Join(g.prefix, "/") }

// How long names are at most, in bytes.
const (
	longestFlowName     = 32 // as thresholds.json and k6 take it
	longestEndpointName = 48 // for a tag's value, and a key in a script: for people who read it
)

// names gives names that are different from each other.
type names struct {
	separator byte
	longest   int // bytes
	given     map[string]bool
}

// of makes a name from the letters and digits of words. A name that would be too long keeps
// the first word and as many of the last ones as fit, which tell more than the words between.
func (n *names) of(words ...string) string {
	all := strings.ToLower(strings.NewReplacer("{", "", "}", "").Replace(strings.Join(words, " ")))
	parts := strings.FieldsFunc(all, func(c rune) bool { return (c < 'a' || c > 'z') && (c < '0' || c > '9') })
	for i := 1; ; i++ {
		end := ""
		if i > 1 {
			end = string(n.separator) + strconv.Itoa(i)
		}
		if name := n.short(parts, n.longest-len(end)) + end; !n.given[name] {
			if n.given == nil {
				n.given = map[string]bool{}
			}
			n.given[name] = true
			return name
		}
	}
}

func (n *names) short(parts []string, longest int) string {
	name := strings.Join(parts, string(n.separator))
	for len(name) > longest && len(parts) > 2 {
		parts = append(parts[:1:1], parts[2:]...)
		name = strings.Join(parts, string(n.separator))
	}
	return strings.TrimRight(name[:min(len(name), longest)], string(n.separator))
}
