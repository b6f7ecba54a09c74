// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"assay.dev/assay/internal/mask"
)

// Error is one mistake in a thresholds or experiment file. Its text is one line,
// file:line: place: problem; the command prints the hint below it.
type Error struct {
	Path    string // path of the file, as the caller named it; empty if the error is in no file
	Line    int    // 1, 2, 3, ...; 0 if the error is in no line
	Place   string // keys from the top, e.g. "profiles.payment.load.target"; empty for the file itself
	Problem string // with the nearest valid word, if one is near
	Next    string // what to write instead; may be empty
	offset  int    // in the file, bytes
}

// Hint is what to write instead; it may be empty.
func (e *Error) Hint() string { return e.Next }

func (e *Error) Error() string {
	var b strings.Builder
	if e.Path != "" {
		b.WriteString(e.Path)
		if e.Line > 0 {
			b.WriteString(":" + strconv.Itoa(e.Line))
		}
		b.WriteString(": ")
	}
	if e.Place != "" {
		b.WriteString(e.Place + ": ")
	}
	b.WriteString(e.Problem)
	return b.String()
}

// Errors are all mistakes in a file, in its order; at least one.
type Errors []*Error

// sort sorts the errors by their places in the file.
func (e Errors) sort() {
	slices.SortStableFunc(e, func(a, b *Error) int { return cmp.Compare(a.offset, b.offset) })
}

// Error is one line: the first, and how many more there are.
func (e Errors) Error() string {
	if len(e) == 1 {
		return e[0].Error()
	}
	return fmt.Sprintf("%v (and %d more)", e[0], len(e)-1)
}

// Unwrap lets errors.As find the first.
func (e Errors) Unwrap() error { return e[0] }

// Position is a place in a file. It is not part of the value, so any two positions
// are equal (go-cmp calls Equal) and JSON omits them: a profile read back from a
// record has none.
type Position struct {
	Path   string
	Line   int
	offset int // in bytes; orders values within a line
}

// Equal is always true, see Position.
func (Position) Equal(Position) bool { return true }

// quoteLimit keeps an error one readable line whatever the file holds.
const quoteLimit = 80 // bytes

func quote(s string) string {
	if len(s) > quoteLimit {
		return strconv.Quote(mask.Cut(s, quoteLimit))
	}
	return strconv.Quote(s)
}

// unknown is the problem of an unknown word, with the nearest valid one.
func unknown(what, word string, valid []string) string {
	problem := fmt.Sprintf("unknown %s %s", what, quote(word))
	if near, ok := nearest(word, valid); ok {
		problem += fmt.Sprintf(": did you mean %q?", near)
	}
	return problem
}

// listed are words of the file for a hint, of which it may have a thousand.
func listed(words []string) string {
	const most = 20
	text := strings.Join(words[:min(len(words), most)], ", ")
	if more := len(words) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// maxNear is the number of valid words with which a wrong one is compared.
const maxNear = 200

// nearest finds the valid word with the fewest edits from word, if these are at
// most a third of its letters: farther off, a suggestion only misleads. The
// first of several equally near ones wins.
func nearest(word string, valid []string) (string, bool) {
	if len(word) > quoteLimit {
		return "", false
	}
	best, found := "", false
	least := max(1, (len([]rune(word))+1)/3) + 1
	for _, v := range valid[:min(len(valid), maxNear)] {
		if d := edits(strings.ToLower(word), strings.ToLower(v)); d < least {
			best, least, found = v, d, true
		}
	}
	return best, found
}

// edits is the number of insertions, deletions, substitutions and swaps of
// neighbours between a and b (optimal string alignment).
func edits(a, b string) int {
	s, t := []rune(a), []rune(b)
	before, previous, row := make([]int, len(t)+1), make([]int, len(t)+1), make([]int, len(t)+1) // rows i-2, i-1 and i
	for j := range previous {
		previous[j] = j
	}
	for i := 1; i <= len(s); i++ {
		row[0] = i
		for j := 1; j <= len(t); j++ {
			substitution := previous[j-1]
			if s[i-1] != t[j-1] {
				substitution++
			}
			row[j] = min(previous[j]+1, row[j-1]+1, substitution)
			if i > 1 && j > 1 && s[i-1] == t[j-2] && s[i-2] == t[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, previous, row = previous, row, before
	}
	return previous[len(t)]
}
