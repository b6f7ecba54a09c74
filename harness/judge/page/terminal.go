package page

import (
	"cmp"
	"slices"
	"strings"
)

// Columns is the width of a terminal page, unless a caller knows better.
const Columns = 100

const (
	indent     = 2
	labels     = 11 // the column in which names of facts and headings of paragraphs stand
	tableGap   = 2
	leastName  = 12 // columns that a name keeps until words have given way
	leastWord  = 6  // columns that names and words keep until numbers have
	mostMerged = 30 // of a heading that stands in the place of a table's first
)

// Terminal sets a page in lines of so many columns, except for code. It reads the
// same without colour.
func Terminal(p Page, columns int, color bool) []byte {
	t := &terminal{columns: columns, color: color}
	t.line()
	t.title(p.Verdict, p.Title)
	t.blocks(p.Blocks, indent)
	return []byte(t.String())
}

// title writes the title beside the verdict, which is set wide, so that it stands
// out without colour too.
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

// wrap writes a text within the columns: after first on the first line, after rest
// on the others.
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

// blocks writes blocks with a blank line around tables and paragraphs.
func (t *terminal) blocks(all []Block, at int) {
	for i, b := range all {
		if i > 0 && (roomy(all[i-1]) || roomy(b)) {
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

func roomy(b Block) bool {
	switch b := b.(type) {
	case Paragraph, Table, Code:
		return true
	case Section:
		return slices.ContainsFunc(b.Blocks, func(b Block) bool {
			_, paragraph := b.(Paragraph)
			return !paragraph && roomy(b)
		})
	}
	return false
}

// section writes a short heading beside its first paragraphs, or in place of the
// heading of its table's first column; else on a line of its own.
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
	if len(paragraphs) > 0 && Width(s.Heading) < labels {
		hanging, label = at+labels, spaces(at)+left(s.Heading, labels)
	} else {
		t.wrap(spaces(at), spaces(at), s.Heading)
	}
	for _, p := range paragraphs {
		t.wrap(cmp.Or(label, spaces(hanging)), spaces(hanging), p.Text)
		label = ""
	}
	rest = rest[len(paragraphs):]
	if len(paragraphs) > 0 && len(rest) > 0 && roomy(rest[0]) {
		t.line()
	}
	t.blocks(rest, at+indent)
}

// merged is the table with which a section begins, under the section's heading.
func (s Section) merged() (Table, bool) {
	if len(s.Blocks) == 0 || Width(s.Heading) > mostMerged {
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

// paragraphs are those with which a section begins.
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
	column := labels
	for _, f := range all {
		column = max(column, min(2*labels, Width(oneLine(f.Name))+2))
	}
	for _, f := range all {
		t.wrap(spaces(at)+left(f.Name, column), spaces(at+column), f.Text)
	}
}

func (t *terminal) list(l List, at int) {
	items, more := shown(l.Items, l.Most)
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

// table writes columns as wide as what stands in them, and the heading's first
// one to the left of the rows. Prose goes below its row where there are names, which
// need the room.
func (t *terminal) table(table Table, heading, at int) {
	table = table.text()
	last := len(table.Columns) - 1
	below := ""
	if slices.ContainsFunc(table.Columns, func(c Column) bool { return c.Kind == Name }) && table.Columns[last].Kind == Prose {
		below = table.Columns[last].Name + " "
		last--
	}
	rows, more := shown(table.Rows, table.Most)
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
	line, used := spaces(at), at // colours take no room
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

// widths are those of the columns: of what stands in them, or less where that is
// too much for a line. Names give way first, then words: a number that is cut says
// something else.
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
			if cmp.Or(cmp.Compare(yields(c, w[i]), yields(columns[widest], w[widest])), cmp.Compare(w[i], w[widest])) > 0 {
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

// yields is how readily a column gives way.
func yields(c Column, width int) int {
	switch {
	case (c.Kind == Name || c.Kind == Prose) && width > leastName:
		return 2
	case c.Kind != Number && width > leastWord:
		return 1
	}
	return 0
}
