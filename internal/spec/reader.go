// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"cmp"
	"fmt"
	"math"
	"net/url"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"assay.dev/assay/internal/mask"
)

// reader turns nodes into values and collects errors, so that decoding reads as a
// list of keys. A missing key is a nil node: object reports it, and reading a nil node
// reports nothing more. Values are returned with ok false if they must not be used, so
// that one mistake is not reported twice.
type reader struct {
	path   string
	lines  []int // offsets of the line feeds
	faults []fault
}

type fault struct {
	offset int
	err    *Error
}

func newReader(path string, data []byte) *reader {
	r := &reader{path: path}
	for i, c := range data {
		if c == '\n' {
			r.lines = append(r.lines, i)
		}
	}
	return r
}

// errors reads the file, and returns the collected Errors in its order, or nil.
func (r *reader) errors(read func()) error {
	r.upTo(read)
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

// maxFaults are reported of a file.
const maxFaults = 100

// enough is what a reader panics with after maxFaults.
type enough struct{}

func (r *reader) add(offset int, place, problem, hint string) {
	if len(r.faults) == maxFaults {
		panic(enough{})
	}
	err := &Error{Path: r.path, Line: r.lineAt(offset), Place: place, Problem: problem, Next: hint}
	r.faults = append(r.faults, fault{offset, err})
}

func (r *reader) lineAt(offset int) int { return 1 + sort.SearchInts(r.lines, offset) }

func (r *reader) position(n *node) Position { return Position{r.path, r.lineAt(n.offset), n.offset} }

var kindWords = map[jsontext.Kind]string{
	jsontext.KindNull: "null", jsontext.KindTrue: "true", jsontext.KindFalse: "false",
	jsontext.KindString: "a string", jsontext.KindNumber: "a number",
	jsontext.KindBeginObject: "an object", jsontext.KindBeginArray: "a list",
}

// is checks the kind of a value and reports another one. It is false for nil.
func (r *reader) is(n *node, kind jsontext.Kind, example string) bool {
	if n == nil {
		return false
	}
	if n.kind == kind {
		return true
	}
	r.fail(n, fmt.Sprintf("want %s, not %s", kindWords[kind], kindWords[n.kind]), likeThis(example))
	return false
}

func likeThis(example string) string {
	if example == "" {
		return ""
	}
	return "write for example " + example
}

// refusal is why a known key is not allowed in an object, and what to write instead.
// An empty one is reported elsewhere.
type refusal struct{ problem, hint string }

// object checks that n is an object and reports its unknown keys and the missing
// required ones. It is false only if n is not an object: the values of known keys are
// read whatever is wrong with the others.
func (r *reader) object(n *node, required, optional []string) bool {
	return r.objectRefusing(n, required, optional, nil)
}

// objectRefusing is object with keys that are refused for specific reasons.
func (r *reader) objectRefusing(n *node, required, optional []string, refused map[string]refusal) bool {
	if !r.is(n, jsontext.KindBeginObject, exampleOf(n)) {
		return false
	}
	known := slices.Concat(required, optional)
	for _, c := range n.children {
		if slices.Contains(known, c.name) {
			continue
		}
		if reason, ok := refused[c.name]; ok {
			if reason.problem != "" {
				r.failKey(c, reason.problem, reason.hint)
			}
			continue
		}
		near, _ := nearest(c.name, known)
		n.unresolved = append(n.unresolved, near)
		r.failKey(c, unknown("key", c.name, known), "known keys: "+strings.Join(known, ", "))
	}
	r.missing(n, required)
	return true
}

// missing reports the required keys that an object lacks, except those that are
// misspelt, which are already reported. If there are as many unknown keys without a
// near valid one as missing keys, each of these is assumed to be a misspelt one.
func (r *reader) missing(n *node, required []string) {
	missing := slices.DeleteFunc(slices.Clone(required), func(key string) bool { return n.get(key) != nil || slices.Contains(n.unresolved, key) })
	unmatched := 0
	for _, near := range n.unresolved {
		if near == "" {
			unmatched++
		}
	}
	n.unresolved = append(n.unresolved, missing...)
	if len(missing) <= unmatched {
		return
	}
	for _, key := range missing {
		r.add(n.offset, n.place(), fmt.Sprintf("missing key %q", key), "add "+exampleIn(n, key))
	}
}

// text reads a string that is not blank.
func (r *reader) text(n *node) (text string, ok bool) {
	if !r.is(n, jsontext.KindString, exampleOf(n)) {
		return "", false
	}
	if strings.TrimSpace(n.text) == "" {
		r.fail(n, "must not be empty", likeThis(exampleOf(n)))
		return "", false
	}
	return n.text, true
}

func (r *reader) number(n *node) (v float64, ok bool) {
	if !r.is(n, jsontext.KindNumber, exampleOf(n)) {
		return 0, false
	}
	v, err := strconv.ParseFloat(n.text, 64)
	if err != nil {
		r.fail(n, fmt.Sprintf("number %s is out of range", mask.Cut(n.text, quoteLimit)), "")
	}
	return v, err == nil
}

func (r *reader) duration(n *node) (d time.Duration, ok bool) {
	if !r.is(n, jsontext.KindString, exampleOf(n)) {
		return 0, false
	}
	d, err := time.ParseDuration(n.text)
	if err != nil {
		r.fail(n, fmt.Sprintf("%s is not a duration", quote(n.text)), `write for example "5s", "90s" or "10m"`)
	}
	return d, err == nil
}

func (r *reader) bool(n *node) bool {
	if n == nil {
		return false
	}
	if n.kind == jsontext.KindTrue || n.kind == jsontext.KindFalse {
		return n.kind == jsontext.KindTrue
	}
	r.fail(n, fmt.Sprintf("want true or false, not %s", kindWords[n.kind]), "")
	return false
}

// oneOf reads a string that must be one of the given words.
func (r *reader) oneOf(n *node, what string, words ...string) (word string, ok bool) {
	if !r.is(n, jsontext.KindString, exampleOf(n)) {
		return "", false
	}
	if !slices.Contains(words, n.text) {
		r.fail(n, unknown(what, n.text, words), "known: "+strings.Join(words, ", "))
		return "", false
	}
	return n.text, true
}

// metricsURL reads the URL of exposed metrics; empty if the key is missing.
func (r *reader) metricsURL(n *node) string { return r.httpURL(n, example["url"]) }

// httpURL reads a URL; empty if the key is missing.
func (r *reader) httpURL(n *node, like string) string {
	if !r.is(n, jsontext.KindString, exampleOf(n)) {
		return ""
	}
	u, err := url.Parse(n.text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || mask.Holds(n.text) {
		shown := quote(n.text)
		if strings.Contains(shown, "@") || mask.Holds(n.text) {
			shown = "the text"
		}
		r.fail(n, shown+" is not an http or https URL without user, password or token", "write for example "+like)
	}
	return n.text
}

// list checks that n is a list and gives its elements.
func (r *reader) list(n *node) []*node {
	if !r.is(n, jsontext.KindBeginArray, exampleOf(n)) {
		return nil
	}
	return n.children
}
