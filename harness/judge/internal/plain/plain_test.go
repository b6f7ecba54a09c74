package plain

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// hostile are texts that steer a terminal, or are no text at all.
var hostile = []string{"\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "a\r\nb\x00", "\u202eright to left", "\xff\xfe", "名前"}

func anyText() *rapid.Generator[string] {
	return rapid.OneOf(rapid.StringN(0, 300, -1), rapid.SampledFrom(hostile))
}

// checkLines holds lines to a terminal.
func checkLines(rt *rapid.T, page string) {
	for line := range strings.Lines(page) {
		line = strings.TrimSuffix(line, "\n")
		if Width(line) > Columns {
			rt.Errorf("%d columns: %q", Width(line), line)
		}
		if strings.TrimRight(line, " ") != line || Clean(line) != line {
			rt.Errorf("line %q", line)
		}
	}
}

func TestWrapOfAnything(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := anyText().Draw(rt, "text")
		first, rest := rapid.SampledFrom([]string{"", "  ", "    - ", hostile[0]}).Draw(rt, "first"), rapid.SampledFrom([]string{"", "      "}).Draw(rt, "rest")
		var p Page
		p.Wrap(first, rest, text)
		checkLines(rt, p.String())
		shown := strings.Join(strings.Fields(p.String()), "")
		if want := strings.Join(strings.Fields(Clean(first+" "+text)), ""); shown != want {
			rt.Errorf("%q shows %q", text, shown)
		}
	})
}

func TestTableOfAnything(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		columns := rapid.IntRange(2, 9).Draw(rt, "columns")
		rows := rapid.SliceOfN(rapid.SliceOfN(anyText(), columns, columns), 1, 9).Draw(rt, "rows")
		var p Page
		p.Table(rows, nil)
		checkLines(rt, p.String())
		if n := strings.Count(p.String(), "\n"); n != len(rows) {
			rt.Errorf("%d lines of %d rows", n, len(rows))
		}
	})
}

func TestTable(t *testing.T) {
	long := strings.Repeat("a", 60) + strings.Repeat("z", 60)
	for name, c := range map[string]struct {
		rows [][]string
		want string
	}{
		"as wide as its content": {
			[][]string{{"name", "A", "B", "word"}, {"a", "1000", "2", "PASS"}},
			"  name     A  B  word\n  a     1000  2  PASS\n",
		},
		"a column without content": {
			[][]string{{"name", "", "B", "word"}, {"a", "", "2", ""}},
			"  name  B  word\n  a     2\n",
		},
		"names give way first": {
			[][]string{{long, strings.Repeat("1", 30), "PASS"}},
			"  " + strings.Repeat("a", 29) + ".." + strings.Repeat("z", 29) + "  " + strings.Repeat("1", 30) + "  PASS\n",
		},
		"as far as they can": {
			[][]string{{long, strings.Repeat("1", 90), "PASS"}},
			"  aaaaa..zzzzz  " + strings.Repeat("1", 38) + ".." + strings.Repeat("1", 38) + "  PASS\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var p Page
			p.Table(c.rows, nil)
			if diff := cmp.Diff(c.want, p.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			var painted Page
			painted.Table(c.rows, func(row int, text string) string {
				if last := c.rows[row][len(c.rows[row])-1]; text != last {
					t.Errorf("%q is painted, want %q", text, last)
				}
				return text
			})
			if painted.String() != c.want {
				t.Errorf("painting changes the text: %q", painted.String())
			}
		})
	}
}

func TestNotes(t *testing.T) {
	var p Page
	p.Notes("Nothing", nil)
	p.Notes("Limitations", []string{"one", strings.Repeat("word ", 20)})
	want := "  Limitations\n    - one\n    - " + strings.TrimRight(strings.Repeat("word ", 19), " ") + "\n      word\n"
	if diff := cmp.Diff(want, p.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestClip(t *testing.T) {
	for want, c := range map[string]struct {
		text string
		most int
	}{
		"whole": {"whole", 5}, "ab..yz": {"abcdefuvwxyz", 6}, "a..yz": {"abcdefuvwxyz", 5}, "..": {"abc", 2}, ".": {"abc", 1}, "": {"abc", 0}, "a?[0m": {"a\x1b[0m", 9},
	} {
		if got := Clip(c.text, c.most); got != want {
			t.Errorf("%q in %d is %q, want %q", c.text, c.most, got, want)
		}
	}
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 20: "20", 1234.5: "1234", 0.123456: "0.1235", 0.00012345: "0.0001234", 99.999: "100", 123456789: "123456789",
		1234567890: "1.235e+09", -2: "-2", 1e-7: "1e-07",
	} {
		if got := Number(&v); got != want {
			t.Errorf("%g is %s, want %s", v, got, want)
		}
	}
	if got := Number(nil); got != "-" {
		t.Errorf("no data is %s", got)
	}
}
