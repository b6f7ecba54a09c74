// SPDX-License-Identifier: Apache-2.0

package page

import (
	"fmt"
	"strings"
)

// Markdown renders a page, without charts and graphs, as GitHub Flavored Markdown for a
// pull request or the summary of a CI job.
func Markdown(p Page) []byte {
	m := &markdown{source: source(p.Source)}
	title := p.Title
	if p.Verdict != "" {
		title = p.Verdict + ": " + title
	}
	m.line("## ", m.source.shorten(title, maxItem))
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
			items, more := truncate(b.Items, b.Limit)
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
			m.table(b.textOnly())
		case Section:
			m.line(strings.Repeat("#", level)+" ", m.source.shorten(b.Heading, maxCell))
			m.blocks(b.Blocks, level+1)
		}
	}
}

func (m *markdown) paragraph(p Paragraph) {
	text := m.source.shorten(p.Text, maxParagraph)
	if text != "" && bold(p.State) {
		m.WriteString("**" + escape(text) + "**\n\n")
	} else {
		m.line("", text)
	}
}

// bold reports whether a state is shown in bold.
func bold(s State) bool { return s == Bad || s == Doubtful || s == Strong }

func (m *markdown) item(text string) {
	m.WriteString("- " + escape(m.source.shorten(text, maxItem)) + "\n")
}

func (m *markdown) more(n int) {
	if text := more(n, m.source); text != "" {
		m.line("", text)
	}
}

// more says how much was truncated, and where to find it; empty: nothing was.
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
	rows, more := truncate(t.Rows, t.Limit)
	if len(rows) == 0 {
		return
	}
	for _, c := range t.Columns {
		m.WriteString("| " + escape(m.source.shorten(c.Name, maxCell)) + " ")
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
			text := escape(m.source.shorten(c.Text, t.Columns[i].maxCharacters()))
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

// escape keeps a line of text from becoming markup, HTML, a link or another table cell.
func escape(s string) string {
	var b strings.Builder
	digits := true // only digits so far: "." would begin a numbered list
	for i := 0; i < len(s); i++ {
		c := s[i]
		special := strings.IndexByte("\\`*_[]{}<>&|~#$@!^", c) >= 0
		switch c {
		case '-', '+', '=', ':':
			// At the start: a list, a rule or a heading; in "://": a link.
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
