package page

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// Clean is a text of printable characters. Others might steer a terminal, or no
// file may hold them.
func Clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, s)
}

// oneLine is a text as one clean line.
func oneLine(s string) string { return Clean(strings.Join(strings.Fields(s), " ")) }

// Width is how many columns of a terminal a clean text takes.
func Width(s string) (columns int) {
	for _, r := range s {
		columns += runeWidth(r)
	}
	return columns
}

// runeWidth is 2 for characters that East Asian scripts and emoji write wide, and
// 0 for marks that are set onto the character before them.
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

// clip cleans a text and shortens it in its middle to n columns: beginnings and
// ends tell names apart.
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
	tail := room - room/2 + head // with what the head could not use
	for to > from && tail >= runeWidth(runes[to-1]) {
		to--
		tail -= runeWidth(runes[to])
	}
	for to < len(runes) && runeWidth(runes[to]) == 0 {
		to++ // a mark without its character
	}
	return string(runes[:from]) + mark + string(runes[to:])
}

// left is a text in n columns, on their left.
func left(s string, n int) string {
	s = clip(s, n)
	return s + strings.Repeat(" ", n-Width(s))
}

// wrap breaks a text into lines of at most n columns. A word that is too long for
// a line goes on in the next.
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

// pieces are the words of a text, none wider than n columns.
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

// Most characters of a text in a file: a script may send texts without end.
const (
	mostParagraph = 1200
	mostItem      = 600 // of a list, a fact, a cell of prose
	mostCell      = 160
)

// shorten is a text as one clean line of at most so many characters.
func shorten(s string, most int) string { return cut(oneLine(s), most) }

// cut is a text of at most so many characters, which says so where it was longer.
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
