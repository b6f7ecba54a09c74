// SPDX-License-Identifier: Apache-2.0

package page

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"

	"assay.dev/assay/internal/mask"
)

// Clean replaces unprintable characters, which might control a terminal or be invalid in
// a file, by "?".
func Clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, s)
}

// maxLine is the length of a line of a message, in characters.
const maxLine = 4000

// Message is a text that somebody else may have written as one line of a message: it has no
// line breaks and no secret, and sends no commands to a terminal.
func Message(s string) string {
	return Clean(strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		return r
	}, strings.TrimSpace(cut(mask.Text(s), maxLine))))
}

// oneLine is a clean text without line breaks.
func oneLine(s string) string { return Clean(strings.Join(strings.Fields(s), " ")) }

// Width is the number of terminal columns that a clean text takes.
func Width(s string) (columns int) {
	for _, r := range s {
		columns += runeWidth(r)
	}
	return columns
}

// runeWidth is 2 for wide East Asian characters and emoji, 0 for combining marks, and 1
// for all others.
func runeWidth(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// clip cleans a text and shortens it to n columns by cutting out its middle, since names
// differ at the beginning or at the end.
func clip(s string, n int) string {
	if s = oneLine(s); Width(s) <= n {
		return s
	}
	const mark = ".."
	if n <= len(mark) {
		return mark[:max(0, n)]
	}
	runes := []rune(s)
	room := n - len(mark)
	from, to, head := 0, len(runes), room/2
	for from < to && head >= runeWidth(runes[from]) {
		head -= runeWidth(runes[from])
		from++
	}
	tail := room - room/2 + head // a wide character may leave a column of the head unused
	for to > from && tail >= runeWidth(runes[to-1]) {
		to--
		tail -= runeWidth(runes[to])
	}
	for to < len(runes) && runeWidth(runes[to]) == 0 {
		to++ // a combining mark whose character was cut
	}
	return string(runes[:from]) + mark + string(runes[to:])
}

// left is a text padded or clipped to n columns.
func left(s string, n int) string {
	s = clip(s, n)
	return s + strings.Repeat(" ", n-Width(s))
}

// wrap breaks a text into lines of at most n columns. It breaks only words that are
// longer than a line.
func wrap(s string, n int) (lines []string) {
	line := ""
	for _, word := range splitWords(oneLine(s), max(2, n)) {
		switch {
		case line == "":
			line = word
		case Width(line)+1+Width(word) > n:
			lines, line = append(lines, line), word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}

// splitWords are the words of a text, each split into parts of at most n columns.
func splitWords(text string, n int) (all []string) {
	for _, word := range strings.Fields(text) {
		room, from := n, 0
		for at, r := range word {
			if w := runeWidth(r); w > room {
				all = append(all, word[from:at])
				from, room = at, n-w
			} else {
				room -= w
			}
		}
		all = append(all, word[from:])
	}
	return all
}

// Limits of texts in characters, where the page has a source: the texts of a script may
// have any length.
const (
	maxParagraph = 1200
	maxItem      = 600 // list items, facts, cells of prose
	maxCell      = 160
)

// source is the file with the full texts of a page; empty: there is none.
type source string

// shorten returns a text in one line, cut to limit characters where the page has a
// source.
func (s source) shorten(text string, limit int) string {
	if text = oneLine(text); s == "" {
		return text
	}
	return cut(text, limit)
}

// cut shortens a text to limit characters, and marks one that was longer.
func cut(s string, limit int) string {
	const mark = " [...]"
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return string([]rune(s)[:limit-len(mark)]) + mark
}

// maxCharacters is the limit of a cell's text.
func (c Column) maxCharacters() int {
	if c.Kind == Prose {
		return maxItem
	}
	return maxCell
}
