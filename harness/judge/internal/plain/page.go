package plain

import (
	"slices"
	"strings"
)

// Columns is the width that pages keep to.
const Columns = 100

// Page gathers lines.
type Page struct{ strings.Builder }

// Line writes its parts without trailing blanks. What of them comes from outside
// must be clean.
func (p *Page) Line(parts ...string) {
	p.WriteString(strings.TrimRight(strings.Join(parts, ""), " "))
	p.WriteByte('\n')
}

// Blank writes an empty line.
func (p *Page) Blank() { p.WriteByte('\n') }

// Notes writes a list under a heading; nothing where it is empty.
func (p *Page) Notes(heading string, texts []string) {
	if len(texts) == 0 {
		return
	}
	p.Line("  " + heading)
	for _, t := range texts {
		p.Wrap("    - ", "      ", t)
	}
}

// Wrap writes words within the columns: after first on the first line, after
// rest on the others. A word that is too long for a line goes on in the next.
func (p *Page) Wrap(first, rest, text string) {
	line, empty := Clean(first), true
	room := max(1, Columns-max(Width(line), Width(rest)))
	for _, word := range pieces(Clean(text), room) {
		if !empty && Width(line)+1+Width(word) > Columns {
			p.Line(line)
			line, empty = rest, true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	p.Line(line)
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
