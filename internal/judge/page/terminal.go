// SPDX-License-Identifier: Apache-2.0

package page

import (
	"cmp"
	"slices"
	"strings"
)

// Columns is the default width of a terminal page.
const Columns = 100

const (
	indent     = 2
	labelWidth = 11 // width of the names of facts, and of headings before paragraphs
	tableGap   = 2
	minName    = 12 // names are shortened to this width before words are
	minWord    = 6  // names and words are shortened to this width before numbers are
	maxMerged  = 30 // width of a heading that replaces the header of a table's first column
)

// Terminal renders a page in lines of at most the given number of columns, except for
// code. The text is the same with and without color.
func Terminal(p Page, columns int, color bool) []byte {
	t := &terminal{columns: columns, color: color}
	t.line()
	t.title(p.Verdict, p.Title)
	t.blocks(p.Blocks, indent)
	return []byte(t.String())
}

// title writes the verdict, letter-spaced so that it is noticed without color, and the
// title.
func (t *terminal) title(verdict, title string) {
	if verdict == "" && title == "" {
		return
	}
	if verdict == "" {
		t.wrap(spaces(indent), spaces(indent), title)
	} else {
		badge := clip("[ "+strings.Join(strings.Split(oneLine(verdict), ""), " ")+" ]", t.columns-indent)
		t.line(spaces(indent), t.paint(VerdictState(verdict), badge), "  ", clip(title, t.columns-2*indent-Width(badge)))
	}
	t.line()
}

type terminal struct {
	strings.Builder
	columns int
	color   bool
}

func spaces(n int) string { return strings.Repeat(" ", n) }

// line writes its parts without trailing blanks.
func (t *terminal) line(parts ...string) {
	t.WriteString(strings.TrimRight(strings.Join(parts, ""), " "))
	t.WriteByte('\n')
}

// wrap writes a text in lines: the first begins with first, the others with rest.
func (t *terminal) wrap(first, rest, text string) {
	for _, line := range wrap(text, t.columns-max(Width(first), Width(rest))) {
		t.line(first, line)
		first = rest
	}
}

func (t *terminal) paint(s State, text string) string {
	code := map[State]string{Good: "1;32", Bad: "1;31", Doubtful: "1;33", Strong: "1"}[s]
	if !t.color || code == "" || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// blocks writes blocks at an indentation.
func (t *terminal) blocks(all []Block, at int) {
	for i, b := range all {
		if i > 0 && (spaced(all[i-1]) || spaced(b)) {
			t.line()
		}
		switch b := b.(type) {
		case Paragraph:
			t.wrap(spaces(at), spaces(at), b.Text)
		case Facts:
			t.facts(b, at)
		case List:
			t.list(b, at)
		case Code:
			for _, line := range b {
				t.line(spaces(at), Clean(line))
			}
		case Table:
			t.table(b, at, at)
		case Section:
			t.section(b, at)
		}
	}
}

// spaced reports whether a block has a blank line before and after it.
func spaced(b Block) bool {
	switch b := b.(type) {
	case Paragraph, Table, Code:
		return true
	case Section:
		return slices.ContainsFunc(b.Blocks, func(b Block) bool {
			_, paragraph := b.(Paragraph)
			return !paragraph && spaced(b)
		})
	}
	return false
}

// section writes a short heading on the line of the first paragraph, or as the header of
// the first column of a table; any other heading has its own line.
func (t *terminal) section(s Section, at int) {
	rest := s.Blocks
	if merged, ok := s.merged(); ok {
		t.table(merged, at, at+indent)
		if rest = rest[1:]; len(rest) > 0 {
			t.line()
		}
		t.blocks(rest, at+indent)
		return
	}
	paragraphs, hanging, label := s.paragraphs(), at+indent, ""
	if len(paragraphs) > 0 && Width(s.Heading) < labelWidth {
		hanging, label = at+labelWidth, spaces(at)+left(s.Heading, labelWidth)
	} else {
		t.wrap(spaces(at), spaces(at), s.Heading)
	}
	for _, p := range paragraphs {
		t.wrap(cmp.Or(label, spaces(hanging)), spaces(hanging), p.Text)
		label = ""
	}
	rest = rest[len(paragraphs):]
	if len(paragraphs) > 0 && len(rest) > 0 && spaced(rest[0]) {
		t.line()
	}
	t.blocks(rest, at+indent)
}

// merged is the table at the beginning of a section, with the section's heading as the
// header of its first column.
func (s Section) merged() (Table, bool) {
	if len(s.Blocks) == 0 || Width(s.Heading) > maxMerged {
		return Table{}, false
	}
	table, ok := s.Blocks[0].(Table)
	if !ok || len(table.Rows) == 0 || !table.Headed() {
		return Table{}, false
	}
	table.Columns = slices.Clone(table.Columns)
	table.Columns[0].Name = s.Heading
	return table, true
}

// paragraphs are the paragraphs at the beginning of a section.
func (s Section) paragraphs() (all []Paragraph) {
	for _, b := range s.Blocks {
		p, ok := b.(Paragraph)
		if !ok {
			break
		}
		all = append(all, p)
	}
	return all
}

func (t *terminal) facts(all Facts, at int) {
	column := labelWidth
	for _, f := range all {
		column = max(column, min(2*labelWidth, Width(oneLine(f.Name))+2))
	}
	for _, f := range all {
		t.wrap(spaces(at)+left(f.Name, column), spaces(at+column), f.Text)
	}
}

func (t *terminal) list(l List, at int) {
	items, more := truncate(l.Items, l.Limit)
	for _, item := range items {
		t.wrap(spaces(at)+"- ", spaces(at+2), item)
	}
	t.more(more, at)
}

func (t *terminal) more(n, at int) {
	if n > 0 {
		t.line(spaces(at), more(n, ""))
	}
}

// table writes a table; header and rows are indented separately. If the table has a
// column of names, which need the width, prose is written below its row.
func (t *terminal) table(table Table, heading, at int) {
	table = table.textOnly()
	last := len(table.Columns) - 1
	below := ""
	if slices.ContainsFunc(table.Columns, func(c Column) bool { return c.Kind == Name }) && table.Columns[last].Kind == Prose {
		below = table.Columns[last].Name + " "
		last--
	}
	rows, more := truncate(table.Rows, table.Limit)
	if len(rows) == 0 || last < 0 {
		return
	}
	columns := table.Columns[:last+1]
	widths := t.widths(columns, rows, heading, at)
	if table.Headed() {
		names := make([]Cell, len(columns))
		for i, c := range columns {
			names[i].Text = c.Name
		}
		widths[0] += at - heading
		t.row(columns, names, widths, heading)
		widths[0] -= at - heading
	}
	for _, row := range rows {
		t.row(columns, row, widths, at)
		if below != "" && row[last+1].Text != "" {
			t.wrap(spaces(at+indent), spaces(at+indent), below+row[last+1].Text)
		}
	}
	t.more(more, at)
}

func (t *terminal) row(columns []Column, cells []Cell, widths []int, at int) {
	line, used := spaces(at), at // used: columns, without color codes
	for i, c := range columns {
		if i > 0 {
			line, used = line+spaces(tableGap), used+tableGap
		}
		if c.Kind == Prose && i == len(columns)-1 {
			lines := wrap(cells[i].Text, widths[i])
			t.line(line, t.paint(cells[i].State, lines[0]))
			for _, more := range lines[1:] {
				t.line(spaces(used), t.paint(cells[i].State, more))
			}
			return
		}
		text := clip(cells[i].Text, widths[i])
		blank := spaces(widths[i] - Width(text))
		if c.Kind == Number {
			line += blank + t.paint(cells[i].State, text)
		} else {
			line += t.paint(cells[i].State, text) + blank
		}
		used += widths[i]
	}
	t.line(line)
}

// widths are the widths of the columns: of the longest cell, or less if the table would
// be wider than a line. Names are shortened first, then words, and numbers last, as a
// shortened number is misleading.
func (t *terminal) widths(columns []Column, rows [][]Cell, heading, at int) []int {
	w := make([]int, len(columns))
	over := at + tableGap*(len(columns)-1) - t.columns
	for i, c := range columns {
		w[i] = Width(oneLine(c.Name))
		if i == 0 {
			w[i] -= at - heading
		}
		for _, row := range rows {
			w[i] = max(w[i], Width(oneLine(row[i].Text)))
		}
		over += w[i]
	}
	for ; over > 0; over-- {
		widest := 0
		for i, c := range columns {
			if cmp.Or(cmp.Compare(priority(c, w[i]), priority(columns[widest], w[widest])), cmp.Compare(w[i], w[widest])) > 0 {
				widest = i
			}
		}
		if w[widest] <= 1 {
			break
		}
		w[widest]--
	}
	return w
}

// priority of a column for shortening; the highest is shortened first.
func priority(c Column, width int) int {
	switch {
	case (c.Kind == Name || c.Kind == Prose) && width > minName:
		return 2
	case c.Kind != Number && width > minWord:
		return 1
	}
	return 0
}
