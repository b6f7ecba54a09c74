package certificate

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// columns is the width that a summary keeps to.
const columns = 100

// page gathers the lines of a summary.
type page struct {
	strings.Builder
	color bool
}

// line writes its parts without trailing blanks. Names come from scripts and
// databases: clean has taken what would steer a terminal out of each.
func (p *page) line(parts ...string) {
	p.WriteString(strings.TrimRight(strings.Join(parts, ""), " "))
	p.WriteByte('\n')
}

func (p *page) blank() { p.WriteByte('\n') }

func (p *page) more(n int) {
	if n > 0 {
		p.line(fmt.Sprintf("    and %d more", n))
	}
}

// notes writes a list under a heading.
func (p *page) notes(heading string, texts []string) {
	if len(texts) == 0 {
		return
	}
	p.line("  " + heading)
	for _, t := range texts {
		p.wrap("    - ", "      ", t)
	}
}

// wrap writes words within the columns. A word that is too long for a line
// stands alone.
func (p *page) wrap(first, rest, text string) {
	line, empty := clean(first), true
	for _, word := range strings.Fields(clean(text)) {
		if !empty && width(line)+1+width(word) > columns {
			p.line(line)
			line, empty = rest, true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	p.line(line)
}

// paint colours a text by the verdict it belongs to.
func (p *page) paint(verdict, text string) string {
	if !p.color {
		return text
	}
	code := "31" // red
	switch verdict {
	case "PASS":
		code = "32"
	case "INVALID", "INCONCLUSIVE":
		code = "33"
	}
	return "\x1b[1;" + code + "m" + text + "\x1b[0m"
}

// spaced sets a word wide, so that it stands out without colour too.
func spaced(word string) string { return "[ " + strings.Join(strings.Split(word, ""), " ") + " ]" }

func width(s string) int { return utf8.RuneCountInString(s) }

func pad(s string, n int) string { return s + strings.Repeat(" ", max(0, n-width(s))) }

func padLeft(s string, n int) string { return strings.Repeat(" ", max(0, n-width(s))) + s }

// clip shortens a text in its middle: beginnings and ends tell names apart.
func clip(s string, n int) string {
	runes := []rune(clean(s))
	if len(runes) <= n {
		return string(runes)
	}
	head := (n - 2) / 2
	return string(runes[:head]) + ".." + string(runes[len(runes)-(n-2-head):])
}

func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, s)
}

// short is a number for people: integers in full up to seven digits, others
// with four significant digits; "-" where there is no data.
func short(v *float64) string {
	switch {
	case v == nil:
		return "-"
	case *v >= 1000 || *v <= -1000 || *v == float64(int64(*v)):
		return strconv.FormatFloat(*v, 'f', 0, 64)
	}
	return strconv.FormatFloat(*v, 'g', 4, 64)
}

func whole(n *int64) string {
	if n == nil {
		return "-"
	}
	return strconv.FormatInt(*n, 10)
}

// measured is a number with its unit; shares are shown as percentages.
func measured(v *float64, unit string) string {
	switch {
	case v == nil:
		return "-"
	case unit == "share":
		share := *v * 100
		return short(&share) + " %"
	case unit == "count" || unit == "":
		return short(v)
	}
	return short(v) + " " + unit
}
