package report

import (
	"fmt"
	"slices"
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
// goes on in the next.
func (p *page) wrap(first, rest, text string) {
	line, empty := clean(first), true
	room := max(1, columns-max(width(line), width(rest)))
	for _, word := range pieces(clean(text), room) {
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

// pieces are the words of a text, none longer than most.
func pieces(text string, most int) (all []string) {
	for _, word := range strings.Fields(text) {
		for runes := range slices.Chunk([]rune(word), most) {
			all = append(all, string(runes))
		}
	}
	return all
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
