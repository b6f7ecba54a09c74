package plain

import (
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable replaces a character that is not for reading: it might steer a
// terminal, or no page may hold it.
func Printable(r rune) rune {
	if unicode.IsPrint(r) {
		return r
	}
	return '?'
}

// Clean is a text of printable characters.
func Clean(s string) string { return strings.Map(Printable, s) }

// Width is how many columns a clean text takes.
func Width(s string) int { return utf8.RuneCountInString(s) }

// Left is a text in n columns, on their left.
func Left(s string, n int) string {
	s = Clip(s, n)
	return s + strings.Repeat(" ", n-Width(s))
}

// Right is a text in n columns, on their right.
func Right(s string, n int) string {
	s = Clip(s, n)
	return strings.Repeat(" ", n-Width(s)) + s
}

// Clip cleans a text, and shortens it in its middle to n columns: beginnings and
// ends tell names apart.
func Clip(s string, n int) string {
	runes := []rune(Clean(s))
	if len(runes) <= n {
		return string(runes)
	}
	const mark = ".."
	if n <= len(mark) {
		return mark[:n]
	}
	head := (n - len(mark)) / 2
	return string(runes[:head]) + mark + string(runes[len(runes)-(n-len(mark)-head):])
}

// Number is a number for people: integers in full up to nine digits, others
// with four significant digits; "-" where there is no data.
func Number(v *float64) string {
	switch {
	case v == nil:
		return "-"
	case math.Abs(*v) >= 1e9:
	case math.Abs(*v) >= 1000 || *v == math.Trunc(*v):
		return strconv.FormatFloat(*v, 'f', 0, 64)
	}
	return strconv.FormatFloat(*v, 'g', 4, 64)
}
