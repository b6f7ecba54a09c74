package traffic

import (
	"maps"
	"slices"
	"strings"

	"assay.dev/assay/internal/project/model/accesslog"
	"assay.dev/assay/internal/project/model/route"
)

// Limits of a tree.
const (
	// mostLiterals is how many different segments may follow the same ones. More than that
	// are identifiers, and become one placeholder. A service has more different first segments
	// than different ones below them.
	mostLiterals, mostFirstLiterals = 32, 100
	// The same is true of more than fewLiterals segments, half of which were requested rarely
	// at most: those that name a function are requested again and again.
	fewLiterals, rarely = 8, 2
	// A segment is a placeholder too if it has less than this share of its parent's requests,
	// or, of many, was requested rarely: it may be a name, and is no load.
	leastShare, many = 1e-5, 300
	maxNodes         = 20_000
	maxEndpoints     = 1000
)

// node is a segment of paths, below the segments before it.
type node struct {
	children map[string]*node // by literal, or by placeholder and extension
	literals int              // children that may become a placeholder
	merged   bool             // they have: new ones do too
	pinned   bool             // the user has named this literal
	// alikeReplaced: its literals became placeholders because they were requested alike.
	alikeReplaced bool
	kind          route.Kind // kind of a placeholder: that of the first value, Text if others differ
	variable      bool       // this or a segment before it is a placeholder
	ends          [accesslog.Methods]*Endpoint
}

// tree finds the endpoint of a shape.
type tree struct {
	root      node
	patterns  [][]string // the user's routes as segments, in which {...} is a placeholder
	nodes     int
	endpoints int
	replaced  int  // literals that became placeholders
	left      room // for the seconds of endpoints
}

// isPlaceholder reports whether a child's name is one.
func isPlaceholder(name string) bool { return name != "" && name[0] == route.Placeholder }

// anyPlaceholder is the name of a placeholder without an extension.
const anyPlaceholder = string(rune(route.Placeholder))

// canMerge reports whether a child is a literal that may become a placeholder. The empty
// one, after a slash at the end of a path, stays.
func canMerge(name string, child *node) bool {
	return name != "" && !isPlaceholder(name) && !child.pinned
}

// placeholderFor is the name of the placeholder that a literal becomes.
func placeholderFor(literal string) string {
	return anyPlaceholder + string(route.Extension([]byte(literal)))
}

// find returns the endpoint of a method and the segments of a shape. Where there is none,
// it makes one; nil if it may not, which known says, or if there are too many (full).
func (t *tree) find(method accesslog.Method, segments [][]byte, known bool) (e *Endpoint, full bool) {
	pattern := t.match(segments)
	at := &t.root
	for depth, segment := range segments {
		name, kind := string(segment), route.Literal
		if isPlaceholder(name) {
			kind = route.Kind(name[1])
			name = name[:1] + name[2:]
		}
		next := at.children[name]
		if depth < len(pattern) && isPattern(pattern[depth]) && kind == route.Literal && (next == nil || !next.pinned) {
			name, kind = anyPlaceholder, route.Text
			next = at.children[name]
		}
		if next == nil && kind == route.Literal && at.merged && name != "" {
			name, kind = placeholderFor(name), route.Text
			next = at.children[name]
		}
		if next == nil {
			if !known {
				return nil, false
			}
			if t.nodes == maxNodes {
				return nil, true
			}
			next = t.add(at, name, kind, false)
			most := mostLiterals
			if depth == 0 {
				most = mostFirstLiterals
			}
			if at.literals > most {
				t.mergeLiterals(at)
				name, kind = placeholderFor(name), route.Text
				next = at.children[name]
			}
		}
		if kind != route.Literal && next.kind != kind {
			next.kind = route.Text
		}
		at = next
	}
	if at.ends[method] == nil {
		if !known {
			return nil, false
		}
		if t.endpoints == maxEndpoints {
			return nil, true
		}
		t.endpoints++
		at.ends[method] = &Endpoint{Method: method, variable: at.variable}
	}
	return at.ends[method], false
}

// match returns the user's pattern that a path has; else the longest with which the path
// begins, of those that end in a placeholder below the first level; else nil.
func (t *tree) match(segments [][]byte) (longest []string) {
	for _, p := range t.patterns {
		switch {
		case len(p) > len(segments) || !matches(p, segments):
		case len(p) == len(segments):
			return p
		case len(p) > len(longest) && !isPattern(p[0]) && isPattern(p[len(p)-1]):
			longest = p
		}
	}
	return longest
}

// matches reports whether segments begin as a pattern.
func matches(pattern []string, segments [][]byte) bool {
	for i, want := range pattern {
		if !isPattern(want) && want != string(segments[i]) {
			return false
		}
	}
	return true
}

// isPattern reports whether a segment of a user's route is a placeholder.
func isPattern(segment string) bool {
	return strings.HasPrefix(segment, "{") && strings.HasSuffix(segment, "}")
}

func (t *tree) add(parent *node, name string, kind route.Kind, pinned bool) *node {
	n := &node{kind: kind, pinned: pinned, variable: parent.variable || kind != route.Literal}
	if parent.children == nil {
		parent.children = map[string]*node{}
	}
	parent.children[name] = n
	t.nodes++
	if canMerge(name, n) {
		parent.literals++
	}
	return n
}

// mergeLiterals makes placeholders of all children that are literals, and of all that will
// be.
func (t *tree) mergeLiterals(n *node) {
	n.merged = true
	for _, name := range slices.Sorted(maps.Keys(n.children)) {
		if canMerge(name, n.children[name]) {
			t.replace(n, name)
		}
	}
}

// replace makes a child that is a literal a placeholder.
func (t *tree) replace(n *node, name string) {
	child := n.children[name]
	delete(n.children, name)
	n.literals--
	t.replaced++
	into := placeholderFor(name)
	if n.children[into] == nil {
		child.kind = route.Text
		child.setVariable()
		n.children[into] = child
		return
	}
	n.children[into].kind = route.Text
	t.merge(n.children[into], child)
}

// setVariable says that a segment up to this one is a placeholder.
func (n *node) setVariable() {
	if n.variable {
		return
	}
	n.variable = true
	for _, e := range n.ends {
		if e != nil {
			e.variable = true
		}
	}
	for _, c := range n.children {
		c.setVariable()
	}
}

// merge moves all that is below one node to another.
func (t *tree) merge(into, from *node) {
	t.nodes--
	for m, e := range from.ends {
		switch {
		case e == nil:
		case into.ends[m] == nil:
			e.variable = into.variable
			into.ends[m] = e
		default:
			into.ends[m].merge(e, &t.left)
			t.endpoints--
		}
	}
	for _, name := range slices.Sorted(maps.Keys(from.children)) {
		child := from.children[name]
		if have := into.children[name]; have != nil {
			if have.kind != child.kind {
				have.kind = route.Text
			}
			t.merge(have, child)
			continue
		}
		if into.children == nil {
			into.children = map[string]*node{}
		}
		into.children[name] = child
		if into.variable {
			child.setVariable()
		}
		if canMerge(name, child) {
			into.literals++
		}
	}
	into.alikeReplaced = into.alikeReplaced || from.alikeReplaced
	if into.merged = into.merged || from.merged; into.merged || into.literals > mostLiterals {
		t.mergeLiterals(into)
	}
}

// settle replaces the literals that are too rare. What that merges may have more of them.
func (t *tree) settle() {
	for before := -1; before != t.replaced; {
		before = t.replaced
		t.replaceRare(&t.root, 0)
	}
}

// replaceRare does so once, and for literals that are requested alike, below a node that is
// depth segments deep. It returns the requests below it.
func (t *tree) replaceRare(n *node, depth int) (requests uint64) {
	of, rare := map[string]uint64{}, 0
	for _, name := range slices.Sorted(maps.Keys(n.children)) {
		child := n.children[name]
		all := t.replaceRare(child, depth+1)
		requests += all
		if canMerge(name, child) {
			of[name] = all
			if all <= rarely {
				rare++
			}
		}
	}
	for _, e := range n.ends {
		if e != nil {
			requests += e.Requests
		}
	}
	if len(of) > fewLiterals && 2*rare > len(of) {
		t.mergeLiterals(n)
		return requests
	}
	for _, name := range slices.Sorted(maps.Keys(of)) {
		if own := of[name]; own <= rarely && requests >= many || float64(own) < leastShare*float64(requests) {
			t.replace(n, name)
			delete(of, name)
		}
	}
	if depth == 0 {
		return requests
	}
	for _, name := range n.alike(of) {
		t.replace(n, name)
		n.alikeReplaced = true
	}
	return requests
}

// all lists the endpoints below a node, and sets their segments.
func (n *node) all(before []Segment) (found []*Endpoint) {
	for _, e := range n.ends {
		if e != nil {
			e.Segments = slices.Clone(before)
			found = append(found, e)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(n.children)) {
		child := n.children[name]
		s := Segment{Literal: name}
		if isPlaceholder(name) {
			s = Segment{Kind: child.kind, Suffix: name[1:]}
		}
		found = append(found, child.all(append(before[:len(before):len(before)], s))...)
	}
	return found
}

// pin adds a route that the user knows: its literals stay.
func (t *tree) pin(path string) {
	pattern := strings.Split(strings.TrimPrefix(path, "/"), "/")
	t.patterns = append(t.patterns, pattern)
	at := &t.root
	for _, segment := range pattern {
		name, kind := segment, route.Literal
		if isPattern(segment) {
			name, kind = anyPlaceholder, route.Text
		}
		next := at.children[name]
		if next == nil {
			next = t.add(at, name, kind, kind == route.Literal)
		}
		at = next
	}
}
