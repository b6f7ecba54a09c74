package route

import (
	"bytes"
	"fmt"
	"strings"
)

// Limits of a shape. What a target has beyond them is one more placeholder, or left out.
const (
	maxSegments = 12
	maxNames    = 8  // in a query
	maxName     = 32 // bytes
)

// Placeholder begins a segment that stands for an identifier, and is a name in a query that
// may be one. No target has it: it is a control character.
const Placeholder = 0x01

// A shape is a text of:
//
//	a byte for the method, which this package does not interpret
//	/ and a segment, for each of the path: a literal, or Placeholder, a Kind and an extension
//	? and the names in the query, separated by &, if there are some
//
// None of the other characters that a shape has are /, ? or &.

// AppendShape appends the shape of a request to dst.
func AppendShape(dst []byte, method byte, target []byte) []byte {
	path, query, _ := bytes.Cut(target, []byte("?"))
	dst = append(dst, method)
	path = bytes.TrimPrefix(path, []byte("/"))
	for n := 1; ; n++ {
		segment, rest, more := bytes.Cut(path, []byte("/"))
		segment, _, _ = bytes.Cut(segment, []byte(";")) // parameters, such as a session
		if n == maxSegments && more {
			return appendNames(append(dst, '/', Placeholder, byte(Text)), query)
		}
		dst = append(dst, '/')
		if kind := KindOf(segment); kind == Literal {
			dst = append(dst, segment...)
		} else {
			dst = append(dst, Placeholder, byte(kind))
			dst = append(dst, Extension(segment)...)
		}
		if !more {
			return appendNames(dst, query)
		}
		path = rest
	}
}

// appendNames appends the names in a query.
func appendNames(dst, query []byte) []byte {
	separator := byte('?')
	for n := 0; len(query) > 0 && n < maxNames; n++ {
		var pair []byte
		pair, query, _ = bytes.Cut(query, []byte("&"))
		name, _, _ := bytes.Cut(pair, []byte("="))
		dst = append(dst, separator)
		separator = '&'
		if nameKnown(name) {
			dst = append(dst, name...)
		} else {
			dst = append(dst, Placeholder)
		}
	}
	return dst
}

// nameKnown reports whether a name in a query identifies nothing.
func nameKnown(name []byte) bool {
	if len(name) == 0 || len(name) > maxName {
		return false
	}
	return KindOf(bytes.TrimSuffix(name, []byte("[]"))) == Literal
}

// Split splits a shape into the segments of its path and the names of its query.
func Split(shape []byte) (method byte, segments, names [][]byte) {
	path, query, some := bytes.Cut(shape[1:], []byte("?"))
	if some {
		names = bytes.Split(query, []byte("&"))
	}
	return shape[0], bytes.Split(path[1:], []byte("/")), names
}

// CheckPattern checks a path that a user names, in which {name} is an identifier.
func CheckPattern(path string) error {
	segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
	if !strings.HasPrefix(path, "/") || len(segments) > maxSegments {
		return fmt.Errorf("%q is not a path of at most %d segments, which begins with /", path, maxSegments)
	}
	for _, s := range segments {
		if !(strings.HasPrefix(s, "{") && strings.HasSuffix(s, "}")) && KindOf([]byte(s)) != Literal {
			return fmt.Errorf("%q in %q would be an identifier: write {name} in its place", s, path)
		}
	}
	return nil
}
