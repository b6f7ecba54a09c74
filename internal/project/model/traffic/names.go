package traffic

import (
	"maps"
	"slices"
	"strings"

	"assay.dev/assay/internal/project/model/route"
)

// Literals that may be names of people, teams or places, below the first level of paths.
const (
	// More than mostAlike literals are names, and become a placeholder, if at least alikeShare
	// of them have the same endpoints below them, and from 1/alikeFactor to alikeFactor times
	// the median of their requests: functions are requested unequally. Files are not counted,
	// as one page may have many.
	mostAlike, alikeShare, alikeFactor = 12, 0.75, 3
	// Where more than surelyFunctions literals remain, they may be names.
	surelyFunctions = 4
)

// alike are the literals below a node that are requested alike, with their requests; none if
// they are few, or differ.
func (n *node) alike(requests map[string]uint64) (all []string) {
	var sorted []uint64
	shapes := map[string]int{}
	for name, of := range requests {
		if len(route.Extension([]byte(name))) > 0 {
			continue
		}
		all = append(all, name)
		sorted = append(sorted, of)
		shapes[n.children[name].shape()]++
	}
	if len(all) <= mostAlike {
		return nil
	}
	slices.Sort(all)
	slices.Sort(sorted)
	median := sorted[len(sorted)/2]
	usual := ""
	for _, shape := range slices.Sorted(maps.Keys(shapes)) {
		if shapes[shape] > shapes[usual] {
			usual = shape
		}
	}
	same := 0
	for _, name := range all {
		if of := requests[name]; of*alikeFactor >= median && of <= alikeFactor*median && n.children[name].shape() == usual {
			same++
		}
	}
	if float64(same) < alikeShare*float64(len(all)) {
		return nil
	}
	return all
}

// shape is the methods and segments below a node, as a text.
func (n *node) shape() string {
	var b strings.Builder
	n.writeShape(&b)
	return b.String()
}

func (n *node) writeShape(b *strings.Builder) {
	for m, e := range n.ends {
		if e != nil {
			b.WriteByte(byte('0' + m))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(n.children)) {
		b.WriteString("/" + name + "(")
		n.children[name].writeShape(b)
		b.WriteString(")")
	}
}

// Places are prefixes of paths, in which {name} stands for segments that may be names.
type Places struct {
	Replaced []string // the segments below had names, and are {id} because they were requested alike
	Left     []string // the segments below may be names
}

// Places are those of the endpoints, in alphabetical order. No request can be added after it.
func (t *Tally) Places() Places {
	t.tree.settle()
	replaced, left := map[string]bool{}, map[string]bool{}
	t.tree.root.places("", 0, replaced, left)
	return Places{Replaced: slices.Sorted(maps.Keys(replaced)), Left: slices.Sorted(maps.Keys(left))}
}

func (n *node) places(prefix string, depth int, replaced, left map[string]bool) {
	literals, pointed := 0, false
	for name, child := range n.children {
		if canMerge(name, child) {
			literals++
			pointed = pointed || hasPoint(name)
		}
	}
	if n.alikeReplaced {
		replaced[prefix] = true
	}
	perhaps := depth > 0 && (literals > surelyFunctions || pointed)
	if perhaps {
		left[prefix] = true
	}
	for name, child := range n.children {
		segment := name
		switch {
		case isPlaceholder(name):
			segment = "{id}" + name[1:]
		case perhaps && canMerge(name, child):
			segment = "{name}"
		}
		child.places(prefix+"/"+segment, depth+1, replaced, left)
	}
}

// hasPoint reports whether a literal has letters after a point, as first.last, and is no file.
func hasPoint(literal string) bool {
	i := strings.LastIndexByte(literal, '.')
	if i < 1 || i+1 == len(literal) || len(route.Extension([]byte(literal))) > 0 {
		return false
	}
	lower := literal[i+1] | 0x20
	return lower >= 'a' && lower <= 'z'
}
