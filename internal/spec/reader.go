// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"bytes"
	"fmt"
	"math"
	"sort"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

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
	faults Errors
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
			for _, v := range unsaid { // what no check has words for
				r.fail(v.n, mask.Line(v.kind.LocalizedString(message.NewPrinter(language.English)), 2*quoteLimit), "")
			}
		}
	})
	if len(r.faults) == 0 {
		return nil
	}
	r.faults.sort()
	return r.faults
}

// upTo reads until there are maxFaults: nobody reads more, and each takes time and memory.
func (r *reader) upTo(read func()) {
	defer func() {
		if p := recover(); p == any(enough{}) {
			r.faults = append(r.faults, &Error{
				Path: r.path, offset: math.MaxInt, Problem: fmt.Sprintf("more than %d mistakes: the others are not listed", maxFaults),
			})
		} else if p != nil {
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
	r.faults = append(r.faults, &Error{Path: r.path, Line: r.lineAt(offset), Place: place, Problem: problem, Next: hint, offset: offset})
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

// rawText is the JSON text of a value.
func rawText(n *node, data []byte) jsontext.Value {
	// Duplicate keys are reported elsewhere.
	v, _ := jsontext.NewDecoder(bytes.NewReader(data[n.offset:]), jsontext.AllowDuplicateNames(true)).ReadValue()
	return v
}

func likeThis(example string) string {
	if example == "" {
		return ""
	}
	return "write for example " + example
}
