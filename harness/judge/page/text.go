package page

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// Clean replaces characters that are not printable: they might control a terminal, or
// be invalid in a file.
func Clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, s)
}

// oneLine is a clean text without line breaks.
func oneLine(s string) string { return Clean(strings.Join(strings.Fields(s), " ")) }

// Width is the number of terminal columns of a clean text.
func Width(s string) (columns int) {
	for _, r := range s {
		columns += runeWidth(r)
	}
	return columns
}

// runeWidth is 2 for wide East Asian characters and emoji, 0 for combining marks, and
// else 1.
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

// clip cleans a text and shortens it to n columns in the middle, since names differ at
// the beginning or at the end.
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
	tail := room - room/2 + head // a wide character may leave a column of the head
	for to > from && tail >= runeWidth(runes[to-1]) {
		to--
		tail -= runeWidth(runes[to])
	}
	for to < len(runes) && runeWidth(runes[to]) == 0 {
		to++ // a combining mark without its character
	}
	return string(runes[:from]) + mark + string(runes[to:])
}

// left is a text padded or clipped to n columns.
func left(s string, n int) string {
	s = clip(s, n)
	return s + strings.Repeat(" ", n-Width(s))
}

// wrap breaks a text into lines of at most n columns. It breaks words only where they
// are longer than a line.
func wrap(s string, n int) (lines []string) {
	line := ""
	for _, word := range pieces(oneLine(s), max(2, n)) {
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

// pieces are the words of a text, split where they are wider than n columns.
func pieces(text string, n int) (all []string) {
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

// Most characters of a text in a file whose page has a source: texts of a script have
// any length.
const (
	mostParagraph = 1200
	mostItem      = 600 // of a list, a fact, a cell of prose
	mostCell      = 160
)

// shorten is oneLine, of at most so many characters where the page has a source.
func (s source) shorten(text string, most int) string {
	if text = oneLine(text); s == "" {
		return text
	}
	return cut(text, most)
}

// source is the file that holds the whole of a page's texts; empty: there is none.
type source string

// cut is a text of at most so many characters, marked where it was longer.
func cut(s string, most int) string {
	const mark = " [...]"
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-len(mark)]) + mark
}

func (c Column) most() int {
	if c.Kind == Prose {
		return mostItem
	}
	return mostCell
}
