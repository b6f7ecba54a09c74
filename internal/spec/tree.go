// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// node is one JSON value with its place in the file, so that every later error
// can name its line.
type node struct {
	parent     *node
	name       string        // its key, where the parent is an object
	index      int           // its index, where the parent is an array
	kind       jsontext.Kind // '{', '[', '"', '0', 't', 'f' or 'n'
	offset     int           // offset of the value's first byte
	nameAt     int           // offset of the key's first byte; without a key, that of the value's
	text       string        // text of a string, unescaped; digits of a number
	children   []*node       // in the order of the file
	duplicates []*node       // members with a key of an earlier one; not among children

	bad        bool     // an error is reported for it
	refused    bool     // an error is reported for a key of it that it may not have
	unresolved []string // keys of an object that are missing or misspelt; "": an unknown key without a near valid one
}

// maxDepth is above what the format needs (6) and bounds the recursion.
const maxDepth = 16

// Limits of the elements of a list, and of the members of an object: far above what any file
// has, so that values may be compared with each other.
const maxElements = 1000

var longer = map[string]int{"stages": maxStages, "brokers": 100, "phases": 100}

// MaxBytes bounds a file of thresholds, of an experiment or of a stub, and so the memory that
// it may take.
const MaxBytes = 1 << 20

// get returns a member of an object, or nil.
func (n *node) get(name string) *node {
	if n == nil || n.kind != jsontext.KindBeginObject {
		return nil
	}
	for _, c := range n.children {
		if c.name == name {
			return c
		}
	}
	return nil
}

// all are the members of an object, or the elements of a list, unless it is reported as wrong.
func (n *node) all() []*node {
	if n == nil || n.bad {
		return nil
	}
	return n.children
}

// string is a text, or the digits of a number; empty for other values.
func (n *node) string() string {
	if n == nil {
		return ""
	}
	return n.text
}

// at follows keys (and indices of arrays) as far as the file has them.
func (n *node) at(path ...string) *node {
	for _, name := range path {
		next := n.get(name)
		if n.kind == jsontext.KindBeginArray {
			if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(n.children) {
				next = n.children[i]
			}
		}
		if next == nil {
			return n
		}
		n = next
	}
	return n
}

// validTree reports whether a value and all values in it are without errors.
func (n *node) validTree() bool {
	return !n.bad && len(n.unresolved) == 0 && !slices.ContainsFunc(n.children, func(c *node) bool { return !c.validTree() })
}

// within reports whether a value is that of a key, or in it.
func (n *node) within(key string) bool {
	return n != nil && (n.name == key || n.parent.within(key))
}

// place is the path of keys from the top, e.g. profiles.payment.load.stages[1].
func (n *node) place() string {
	if n == nil || n.parent == nil {
		return ""
	}
	before := n.parent.place()
	if n.parent.kind == jsontext.KindBeginArray {
		return fmt.Sprintf("%s[%d]", before, n.index)
	}
	return joinPlace(before, n.name)
}

// joinPlace appends a key, quoted if it could be misread or break the line.
func joinPlace(before, key string) string {
	if quote(key) != `"`+key+`"` || key == "" || strings.ContainsAny(key, ". ") {
		key = quote(key)
	}
	if before == "" {
		return key
	}
	return before + "." + key
}

// parser builds the tree.
type parser struct {
	path string
	data []byte
	dec  *jsontext.Decoder
	open *node  // the innermost open container, which is the place of errors
	raw  string // key of values that are not read, and so of any length; empty: none
}

// parse reads the whole file. It ends at the first syntax error, which includes
// invalid UTF-8. raw is the key of values that are of any length; empty: none.
func parse(path string, data []byte, raw string) (*node, *Error) {
	p := &parser{path: path, data: data, dec: jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true)), raw: raw}
	switch {
	case len(data) > MaxBytes:
		return nil, p.fail(0, fmt.Sprintf("the file has %d bytes, more than the maximum of %d", len(data), MaxBytes))
	case len(bytes.TrimSpace(data)) == 0:
		return nil, p.fail(0, "the file is empty")
	}
	root := &node{}
	err := p.value(root, 0)
	if err == nil {
		if _, err = p.dec.ReadToken(); err == io.EOF { //nolint:errorlint // the decoder's documented bare value
			return root, nil
		}
		if err == nil {
			return nil, p.fail(p.next(), "unexpected data after the end of the object")
		}
	}
	var own *Error
	var syntax *jsontext.SyntacticError
	switch {
	case errors.As(err, &own):
		return nil, own
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, p.fail(len(bytes.TrimRight(data, " \t\r\n")), "unexpected end of file")
	case errors.As(err, &syntax):
		return nil, p.fail(int(syntax.ByteOffset), "not JSON: "+oneLine(syntax.Err.Error()))
	}
	return nil, p.fail(p.next(), "not JSON: "+oneLine(err.Error()))
}

func (p *parser) fail(offset int, problem string) *Error {
	line := 1 + bytes.Count(p.data[:min(max(offset, 0), len(p.data))], []byte("\n"))
	return &Error{Path: p.path, Line: line, Place: p.open.place(), Problem: problem}
}

// value reads the next value into n, whose parent and name are set: place needs them
// when an error occurs deeper down.
func (p *parser) value(n *node, depth int) error {
	n.offset = p.next()
	if n.name == "" {
		n.nameAt = n.offset
	}
	tok, err := p.dec.ReadToken()
	if err != nil {
		return err
	}
	n.kind = tok.Kind()
	switch n.kind {
	case jsontext.KindString, jsontext.KindNumber:
		n.text = tok.String()
	case jsontext.KindBeginObject, jsontext.KindBeginArray:
		if depth == maxDepth {
			return p.fail(n.offset, fmt.Sprintf("nested deeper than %d levels", maxDepth))
		}
		return p.members(n, depth)
	}
	return nil
}

// members reads an object or array up to its end. On an error open stays at
// the innermost one.
func (p *parser) members(n *node, depth int) error {
	outer := p.open
	p.open = n
	keys, limit := map[string]bool{}, cmp.Or(longer[n.name], maxElements)
	if p.raw != "" && n.within(p.raw) {
		limit = MaxBytes
	}
	for {
		if kind := p.dec.PeekKind(); kind == jsontext.KindEndObject || kind == jsontext.KindEndArray {
			if _, err := p.dec.ReadToken(); err != nil {
				return err
			}
			p.open = outer
			return nil
		}
		if len(n.children)+len(n.duplicates) == limit {
			return p.fail(p.next(), fmt.Sprintf("has more than %d elements", limit))
		}
		c := &node{parent: n, index: len(n.children)}
		if n.kind == jsontext.KindBeginObject {
			c.nameAt = p.next()
			tok, err := p.dec.ReadToken()
			if err != nil {
				return err
			}
			c.name = tok.String()
		}
		if err := p.value(c, depth+1); err != nil {
			return err
		}
		if n.kind == jsontext.KindBeginObject && keys[c.name] {
			n.duplicates = append(n.duplicates, c)
			continue
		}
		keys[c.name] = true
		n.children = append(n.children, c)
	}
}

// next is the offset of the next token: the decoder's own offset is the end of
// the last one.
func (p *parser) next() int {
	i := int(p.dec.InputOffset())
	for i < len(p.data) && bytes.IndexByte([]byte(" \t\r\n,:"), p.data[i]) >= 0 {
		i++
	}
	return i
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
