package route

import (
	"bytes"
	"fmt"
	"strings"
)

// Kind is what a segment of a path is.
type Kind byte

// The kinds. All but Literal are identifiers.
const (
	Literal Kind = iota
	Number       // digits only
	UUID
	Hex  // hexadecimal digits
	Text // anything else that may identify: a name with digits, an e-mail, a token, escapes
)

// MarshalText is the kind's word in a document; a literal has none.
func (k Kind) MarshalText() ([]byte, error) {
	return []byte([...]string{"", "number", "uuid", "hex", "text"}[k]), nil
}

// Lengths and shares that tell words from tokens. An English word or a name of a method
// in several words stays a literal; what is mistaken for a token is only a placeholder.
const (
	longestLiteral = 48
	shortestToken  = 16 // a shorter text without digits may be a word
	shortestHex    = 8  // with a digit; without one, a word such as facade may be hexadecimal
	mostDigits     = 1  // most digits in a literal: oauth2, mp3
	// caseChanges is the largest share of letters that follow one of the other case: a token of
	// random letters has one in two, words in CamelCase have one in three or less.
	caseChanges = 0.4
	// leastVowels is the least share of vowels and y in a word's letters: random letters have
	// 23 %, English words 40 %.
	leastVowels = 0.2
)

// extensions are those of files: a placeholder keeps them, because files of one kind are
// served alike.
var extensions = map[string]bool{
	"avif": true, "css": true, "gif": true, "gz": true, "html": true, "ico": true, "jpeg": true, "jpg": true,
	"js": true, "json": true, "m3u8": true, "m4s": true, "map": true, "mjs": true, "mp3": true, "mp4": true,
	"mpd": true, "pdf": true, "php": true, "png": true, "svg": true, "ts": true, "ttf": true, "txt": true,
	"vtt": true, "wasm": true, "webm": true, "webp": true, "woff": true, "woff2": true, "xml": true, "zip": true,
}

// Extension is the extension of a segment, with its point, if it is that of a file; else it
// is empty.
func Extension(segment []byte) []byte {
	i := bytes.LastIndexByte(segment, '.')
	if i < 1 || !extensions[string(segment[i+1:])] {
		return nil
	}
	return segment[i:]
}

// KindOf says what a segment of a path is, by its text alone.
func KindOf(segment []byte) Kind {
	stem := segment[:len(segment)-len(Extension(segment))]
	count := count(stem)
	switch {
	case len(stem) == 0:
		return Literal
	case count.digits == len(stem):
		return Number
	case count.other || stem[0] == '.' && bytes.Trim(stem, ".") == nil: // as . and .. are
		return Text
	case isUUID(stem):
		return UUID
	case count.hex == len(stem) && (count.digits > 0 && len(stem) >= shortestHex || len(stem) >= shortestToken):
		return Hex
	case isVersion(stem):
		return Literal
	case len(stem) > longestLiteral || count.digits > mostDigits:
		return Text
	case len(stem) >= shortestToken && (float64(count.changes) > caseChanges*float64(len(stem)) || float64(count.vowels) < leastVowels*float64(count.letters)):
		return Text
	}
	return Literal
}

// counts are numbers of a text's characters.
type counts struct {
	digits, letters, vowels, hex int
	changes                      int  // letters that follow one of the other case
	other                        bool // a character that no literal has
}

func count(text []byte) (n counts) {
	before := byte(0)
	for _, c := range text {
		lower := c | 0x20
		switch {
		case c >= '0' && c <= '9':
			n.digits++
			n.hex++
		case lower >= 'a' && lower <= 'z':
			n.letters++
			switch lower {
			case 'a', 'e':
				n.hex++
				n.vowels++
			case 'b', 'c', 'd', 'f':
				n.hex++
			case 'i', 'o', 'u', 'y':
				n.vowels++
			}
			if b := before | 0x20; b >= 'a' && b <= 'z' && before&0x20 != c&0x20 {
				n.changes++
			}
		case c == '.' || c == '_' || c == '~' || c == ':' || c == '-': // RFC 3986's unreserved, and custom methods' colon
		default:
			n.other = true
		}
		before = c
	}
	return n
}

// isUUID reports whether a text is 8-4-4-4-12 hexadecimal digits.
func isUUID(b []byte) bool {
	if len(b) != 36 {
		return false
	}
	for i, c := range b {
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if lower := c | 0x20; (c < '0' || c > '9') && (lower < 'a' || lower > 'f') {
				return false
			}
		}
	}
	return true
}

// isVersion reports whether a text is v1, v12 or v2.10.
func isVersion(b []byte) bool {
	if len(b) < 2 || len(b) > 7 || b[0] != 'v' || b[1] < '0' || b[1] > '9' {
		return false
	}
	for _, c := range b[1:] {
		if (c < '0' || c > '9') && c != '.' {
			return false
		}
	}
	return true
}

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
