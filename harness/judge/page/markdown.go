package page

import (
	"fmt"
	"strings"
)

// Markdown renders a page in GitHub's flavour, for a pull request or the summary of a
// CI job, without charts and graphs.
func Markdown(p Page) []byte {
	m := &markdown{source: source(p.Source)}
	title := p.Title
	if p.Verdict != "" {
		title = p.Verdict + ": " + title
	}
	m.line("## ", m.source.shorten(title, mostItem))
	m.blocks(p.Blocks, 3)
	return []byte(m.String())
}

type markdown struct {
	strings.Builder
	source source
}

// line writes a prefix in Markdown, a text, and a blank line.
func (m *markdown) line(prefix, text string) {
	m.WriteString(prefix + escape(text) + "\n\n")
}

func (m *markdown) blocks(all []Block, level int) {
	for _, b := range all {
		switch b := b.(type) {
		case Paragraph:
			m.paragraph(b)
		case Facts:
			for _, f := range b {
				m.item(f.Name + ": " + f.Text)
			}
			m.WriteByte('\n')
		case List:
			items, more := shown(b.Items, b.Most)
			for _, item := range items {
				m.item(item)
			}
			m.WriteByte('\n')
			m.more(more)
		case Code:
			for _, line := range b {
				m.WriteString("    " + Clean(line) + "\n")
			}
			m.WriteByte('\n')
		case Table:
			m.table(b.text())
		case Section:
			m.line(strings.Repeat("#", level)+" ", m.source.shorten(b.Heading, mostCell))
			m.blocks(b.Blocks, level+1)
		}
	}
}

func (m *markdown) paragraph(p Paragraph) {
	text := m.source.shorten(p.Text, mostParagraph)
	if text != "" && bold(p.State) {
		m.WriteString("**" + escape(text) + "**\n\n")
	} else {
		m.line("", text)
	}
}

// bold reports whether a state is highlighted without color.
func bold(s State) bool { return s == Bad || s == Doubtful || s == Strong }

func (m *markdown) item(text string) {
	m.WriteString("- " + escape(m.source.shorten(text, mostItem)) + "\n")
}

func (m *markdown) more(n int) {
	if text := more(n, m.source); text != "" {
		m.line("", text)
	}
}

// more says how much is left out, and where to find it; empty: nothing is left out.
func more(n int, in source) string {
	switch {
	case n == 0:
		return ""
	case in == "":
		return fmt.Sprintf("and %d more", n)
	}
	return fmt.Sprintf("and %d more, in %s", n, in)
}

func (m *markdown) table(t Table) {
	rows, more := shown(t.Rows, t.Most)
	if len(rows) == 0 {
		return
	}
	for _, c := range t.Columns {
		m.WriteString("| " + escape(m.source.shorten(c.Name, mostCell)) + " ")
	}
	m.WriteString("|\n")
	for _, c := range t.Columns {
		if m.WriteString("|---"); c.Kind == Number {
			m.WriteByte(':')
		}
	}
	m.WriteString("|\n")
	for _, row := range rows {
		for i, c := range row {
			text := escape(m.source.shorten(c.Text, t.Columns[i].most()))
			if text != "" && bold(c.State) {
				text = "**" + text + "**"
			}
			m.WriteString("| " + text + " ")
		}
		m.WriteString("|\n")
	}
	m.WriteByte('\n')
	m.more(more)
}

// escape keeps a line of text from becoming markup, HTML, a link or a further cell of a
// table.
func escape(s string) string {
	var b strings.Builder
	digits := true // nothing but digits so far: a numbered list may begin
	for i := 0; i < len(s); i++ {
		c := s[i]
		special := strings.IndexByte("\\`*_[]{}<>&|~#$@!^", c) >= 0
		switch c {
		case '-', '+', '=', ':':
			// At the beginning a list, a rule or a heading; in "://" a link.
			special = i == 0 || c == ':' && strings.HasPrefix(s[i:], "://")
		case '.':
			special = digits && ends(s[i+1:]) || strings.HasSuffix(strings.ToLower(s[:i]), "www")
		case ')':
			special = digits && ends(s[i+1:])
		}
		if special {
			b.WriteByte('\\')
		}
		b.WriteByte(c)
		digits = digits && c >= '0' && c <= '9'
	}
	return b.String()
}

func ends(rest string) bool { return rest == "" || rest[0] == ' ' }
