// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/mask"
)

// reader reads a file: its schema refuses most mistakes, fill decodes it, and the checks of
// each kind of file find the rest. Checks pass over values that are already reported, so that
// one mistake is not reported twice.
type reader struct {
	path   string
	data   []byte
	lines  []int // offsets of the line feeds
	schema *schema
	raw    string // key of values that are not read; empty: none
	faults []fault
}

type fault struct {
	offset int
	err    *Error
}

// version of the formats that this package reads.
const version = 1

// decode reads a file of a kind by its schema, and then by the checks in read. raw is the key
// of values that are of any length; empty: none. The error is of type Errors, in the order of
// the file.
func decode(path string, data []byte, s *schema, raw string, read func(*reader, *node)) (err error) {
	defer foreign.Guard(&err)
	root, bad := parse(path, data, raw)
	if bad != nil {
		return Errors{bad}
	}
	r := &reader{path: path, data: data, schema: s, raw: raw}
	for i, c := range data {
		if c == '\n' {
			r.lines = append(r.lines, i)
		}
	}
	r.upTo(func() {
		if v := root.get("version"); v != nil && v.kind == jsontext.KindNumber {
			if number, err := strconv.ParseFloat(v.text, 64); err == nil && number != version {
				r.fail(v, fmt.Sprintf("unsupported version %s: want %d", mask.Cut(v.text, quoteLimit), version), "")
				return // nothing else is checked
			}
		}
		r.reportDuplicates(root)
		unsaid := r.validate(root)
		if root.kind == jsontext.KindBeginObject {
			read(r, root)
		}
		if len(r.faults) == 0 {
			for _, v := range unsaid {
				r.unexplained(v)
			}
		}
	})
	if len(r.faults) == 0 {
		return nil
	}
	slices.SortStableFunc(r.faults, func(a, b fault) int { return cmp.Compare(a.offset, b.offset) })
	all := make(Errors, len(r.faults))
	for i, f := range r.faults {
		all[i] = f.err
	}
	return all
}

// upTo reads until there are maxFaults: nobody reads more, and each takes time and memory.
func (r *reader) upTo(read func()) {
	defer func() {
		switch p := recover(); p {
		case nil:
		case any(enough{}):
			last := &Error{Path: r.path, Problem: fmt.Sprintf("more than %d mistakes: the others are not listed", maxFaults)}
			r.faults = append(r.faults, fault{math.MaxInt, last})
		default:
			panic(p)
		}
	}()
	read()
}

// maxFaults are reported of a file.
const maxFaults = 100

// enough is what a reader panics with after maxFaults.
type enough struct{}

// fail reports a problem of a value.
func (r *reader) fail(n *node, problem, hint string) {
	n.bad = true
	r.add(n.offset, n.place(), problem, hint)
}

// failKey reports a problem of a member's key. Its place is the object's.
func (r *reader) failKey(n *node, problem, hint string) {
	n.bad = true
	r.add(n.nameAt, n.parent.place(), problem, hint)
}

func (r *reader) add(offset int, place, problem, hint string) {
	if len(r.faults) == maxFaults {
		panic(enough{})
	}
	err := &Error{Path: r.path, Line: r.lineAt(offset), Place: place, Problem: problem, Next: hint}
	r.faults = append(r.faults, fault{offset, err})
}

func (r *reader) lineAt(offset int) int { return 1 + sort.SearchInts(r.lines, offset) }

func (r *reader) position(n *node) Position { return Position{r.path, r.lineAt(n.offset), n.offset} }

// reportDuplicates reports the duplicate keys of an object and of those below it.
// The values of the duplicates are not checked.
func (r *reader) reportDuplicates(n *node) {
	for _, c := range n.duplicates {
		r.failKey(c, fmt.Sprintf("duplicate key %s", quote(c.name)), "")
	}
	for _, c := range n.children {
		r.reportDuplicates(c)
	}
}

// names checks the keys of an object, which are names.
func (r *reader) names(n *node, check func(name string) (problem, hint string)) {
	for _, c := range n.all() {
		if problem, hint := check(c.name); problem != "" {
			r.failKey(c, problem, hint)
		}
	}
}

// rawText is the JSON text of a value.
func rawText(n *node, data []byte) jsontext.Value {
	// Duplicate keys are reported elsewhere.
	v, _ := jsontext.NewDecoder(bytes.NewReader(data[n.offset:]), jsontext.AllowDuplicateNames(true)).ReadValue()
	return v
}

var kindWords = map[jsontext.Kind]string{
	jsontext.KindNull: "null", jsontext.KindTrue: "true", jsontext.KindFalse: "false",
	jsontext.KindString: "a string", jsontext.KindNumber: "a number",
	jsontext.KindBeginObject: "an object", jsontext.KindBeginArray: "a list",
}

func likeThis(example string) string {
	if example == "" {
		return ""
	}
	return "write for example " + example
}
