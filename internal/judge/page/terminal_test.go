package page

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// terminalText is a block as a terminal shows it, without the leading blank line.
func terminalText(b Block, columns int) string {
	return strings.TrimPrefix(string(Terminal(Page{Blocks: []Block{b}}, columns, false)), "\n")
}

func TestWidth(t *testing.T) {
	for text, want := range map[string]int{
		"":           0,
		"abc":        3,
		"名前":         4, // wide
		"ｆｕｌｌ":       8, // full width
		"ﾊﾝｶｸ":       4, // half width
		"한글":         4, // Hangul syllables
		"e\u0301":    1, // a combining accent
		"é":          1,
		"\U0001f600": 2, // an emoji
		"–§°":        3, // ambiguous ones are narrow
	} {
		if got := Width(text); got != want {
			t.Errorf("%q takes %d columns, want %d", text, got, want)
		}
	}
}

// Columns are aligned whatever script their names are in.
func TestTableOfWideNames(t *testing.T) {
	table := Table{Columns: append(Names("endpoint"), Numbers("p95")...), Rows: [][]Cell{
		Cells("支払いを作成する", "36.7"), Cells("결제 생성", "4.28"), Cells("cafe\u0301", "0.61"), Cells("pay", "147"),
	}}
	want := strings.Join([]string{
		"  endpoint           p95",
		"  支払いを作成する  36.7",
		"  결제 생성         4.28",
		"  cafe\u0301              0.61",
		"  pay                147",
		"",
	}, "\n")
	if diff := cmp.Diff(want, terminalText(table, Columns)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	table.Rows[0][0].Text = strings.Repeat("支払い", 20)
	for line := range strings.Lines(terminalText(table, 41)) {
		if n := Width(strings.TrimSuffix(line, "\n")); n > 41 || n < 40 { // a wide character may leave one column
			t.Errorf("%d columns: %q", n, line)
		}
	}
}

func TestTable(t *testing.T) {
	long := strings.Repeat("a", 60) + strings.Repeat("z", 60)
	columns := func(names ...string) []Column {
		return append(append(Names(names[0]), Numbers(names[1:len(names)-1]...)...), Words(names[len(names)-1])...)
	}
	for name, c := range map[string]struct {
		table Table
		want  string
	}{
		"as wide as its content": {
			Table{Columns: columns("name", "A", "B", "word"), Rows: [][]Cell{Cells("a", "1000", "2", "PASS")}},
			"  name     A  B  word\n  a     1000  2  PASS\n",
		},
		"a column without content": {
			Table{Columns: columns("name", "A", "B", "word"), Rows: [][]Cell{Cells("a", "", "2", "x"), Cells("b", "", "3", "")}},
			"  name  B  word\n  a     2  x\n  b     3\n",
		},
		"without a heading": {
			Table{Columns: columns("", "", ""), Rows: [][]Cell{Cells("a", "1", "x")}},
			"  a  1  x\n",
		},
		"names are shortened first": {
			Table{Columns: columns("", "", ""), Rows: [][]Cell{Cells(long, strings.Repeat("1", 30), "PASS")}},
			"  " + strings.Repeat("a", 29) + ".." + strings.Repeat("z", 29) + "  " + strings.Repeat("1", 30) + "  PASS\n",
		},
		"then words": {
			Table{Columns: columns("", "", ""), Rows: [][]Cell{Cells(long, strings.Repeat("1", 76), "undetermined")}},
			"  aaa..zzzz  " + strings.Repeat("1", 76) + "  und..ined\n",
		},
		"numbers last": {
			Table{Columns: columns("", "", ""), Rows: [][]Cell{Cells(long, strings.Repeat("1", 90), "PASS")}},
			"  aa..zz  " + strings.Repeat("1", 41) + ".." + strings.Repeat("1", 41) + "  PASS\n",
		},
		"prose below names": {
			Table{Columns: slices.Concat(Names("name"), Numbers("A"), []Column{{"mostly in", Prose}}), Rows: [][]Cell{Cells("a", "1", "commit"), Cells("b", "2", "")}},
			"  name  A\n  a     1\n    mostly in commit\n  b     2\n",
		},
		"prose is wrapped": {
			Table{Columns: append(Words(""), Column{Kind: Prose}), Rows: [][]Cell{Cells("failed", strings.Repeat("word ", 20)), Cells("ok", "x")}},
			"  failed  " + strings.TrimRight(strings.Repeat("word ", 18), " ") + "\n          word word\n  ok      x\n",
		},
		"the first rows": {
			Table{Columns: columns("", "", ""), Rows: [][]Cell{Cells("a", "1", "x"), Cells("b", "2", "y"), Cells("c", "3", "z")}, Limit: 1},
			"  a  1  x\n  and 2 more\n",
		},
		"without drawings": {
			Table{Columns: append(Names("a"), Column{"drawn", Graph}), Rows: [][]Cell{{{Text: "x"}, {Graph: Bars{1, 1}}}}},
			"  a\n  x\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, terminalText(c.table, Columns)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestSections(t *testing.T) {
	table := Table{Columns: append(Names("event"), Numbers("ms")...), Rows: [][]Cell{Cells("commit", "25.0")}}
	for name, c := range map[string]struct {
		block Block
		want  string
	}{
		"a paragraph on the line of its heading": {
			Section{Heading: "Rules", Blocks: []Block{Paragraph{Text: "2 of 22 are broken"}, List{Items: []string{"one", "two", "three"}, Limit: 2}}},
			"  Rules      2 of 22 are broken\n    - one\n    - two\n    and 1 more\n",
		},
		"paragraphs below a long one": {
			Section{Heading: "What was seen", Blocks: []Block{Paragraph{Text: "a"}, Paragraph{Text: "b"}}},
			"  What was seen\n    a\n    b\n",
		},
		"a table under its heading": {Section{Heading: "Waits", Blocks: []Block{table}}, "  Waits       ms\n    commit  25.0\n"},
		"a table below a long one": {
			Section{Heading: "What sessions of the database waited for", Blocks: []Block{table}},
			"  What sessions of the database waited for\n    event     ms\n    commit  25.0\n",
		},
		"a list":              {Section{Heading: "Limitations", Blocks: []Block{List{Items: []string{"one"}}}}, "  Limitations\n    - one\n"},
		"facts":               {Facts{{"Target", "here"}, {"A longer name", "there"}}, "  Target         here\n  A longer name  there\n"},
		"code":                {Code{"assay  judge RUN"}, "  assay  judge RUN\n"},
		"nothing but heading": {Section{Heading: "Waits"}, "  Waits\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, terminalText(c.block, Columns)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Whatever its texts, the lines of a page fit the terminal and contain no control
// characters, and color does not change the text.
func TestTerminalOfAnyPage(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p, columns := anyPage().Draw(rt, "page"), rapid.IntRange(60, 140).Draw(rt, "columns")
		plain := string(Terminal(p, columns, false))
		for line := range strings.Lines(plain) {
			line = strings.TrimSuffix(line, "\n")
			if Width(line) > columns {
				rt.Errorf("%d columns of %d: %q", Width(line), columns, line)
			}
			if strings.TrimRight(line, " ") != line || Clean(line) != line {
				rt.Errorf("line %q", line)
			}
		}
		colored := strings.NewReplacer("\x1b[0m", "", "\x1b[1;31m", "", "\x1b[1;32m", "", "\x1b[1;33m", "", "\x1b[1m", "").Replace(string(Terminal(p, columns, true)))
		if plain != colored {
			rt.Errorf("colour changes the text:\n%s", cmp.Diff(plain, colored))
		}
	})
}

func TestWrapOfAnyText(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text, columns := anyText().Draw(rt, "text"), rapid.IntRange(2, 100).Draw(rt, "columns")
		lines := wrap(text, columns)
		for _, line := range lines {
			if Width(line) > columns {
				rt.Errorf("%d columns: %q", Width(line), line)
			}
		}
		shown := strings.Join(strings.Fields(strings.Join(lines, " ")), "")
		if want := strings.Join(strings.Fields(Clean(strings.Join(strings.Fields(text), " "))), ""); shown != want {
			rt.Errorf("%q shows %q", text, shown)
		}
	})
}

func TestClip(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{
		{"whole", 5, "whole"},
		{"abcdefuvwxyz", 6, "ab..yz"},
		{"abcdefuvwxyz", 5, "a..yz"},
		{"abc", 2, ".."},
		{"abc", 1, "."},
		{"abc", 0, ""},
		{"a\x1b[0m", 9, "a?[0m"},
		{"名前の長い端点", 8, "名..端点"},
		{"名前の長い端点", 9, "名..端点"},
		{"abce\u0301fghe\u0301", 5, "a..he\u0301"},
	} {
		if got := clip(c.text, c.width); got != c.want {
			t.Errorf("%q in %d is %q, want %q", c.text, c.width, got, c.want)
		}
	}
}
