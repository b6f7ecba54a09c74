package page

import (
	"pgregory.net/rapid"
)

// hostile are texts that would be more than text if they were not escaped.
var hostile = []string{
	`<script>window.pwned = 1</script>`,
	`"><img src=x onerror="window.pwned = 1">`,
	`</script><script>window.pwned = 1</script>`,
	"| a | b |\n|---|---|\n| c | d |",
	"[a](javascript:alert(1)) ![b](http://127.0.0.1:1/x.png) `c` **d** <!-- e",
	"http://example.com www.example.com @somebody #1 :tada:",
	"\x00\x1b[31mred\x1b[0m\r\n\x7f\u2028\ufffe\xff",
	"\x1b]0;title\x07", "\u202eright to left", "名前", "1. one", "- two", "e\u0301",
}

func anyText() *rapid.Generator[string] {
	return rapid.OneOf(rapid.StringN(0, 300, -1), rapid.SampledFrom(hostile))
}

// anyPage draws a page with blocks of all kinds.
func anyPage() *rapid.Generator[Page] {
	return rapid.Custom(func(rt *rapid.T) Page {
		return Page{
			Title: anyText().Draw(rt, "title"), Verdict: rapid.OneOf(rapid.SampledFrom([]string{"", "PASS", "FAIL", "INVALID"}), anyText()).Draw(rt, "verdict"),
			Source: "certificate.json", Blocks: rapid.SliceOfN(anyBlock(2), 0, 5).Draw(rt, "blocks"),
		}
	})
}

func anyBlock(depth int) *rapid.Generator[Block] {
	state := rapid.Custom(func(rt *rapid.T) State { return State(rapid.IntRange(0, int(Quiet)).Draw(rt, "state")) })
	return rapid.Custom(func(rt *rapid.T) Block {
		limit := rapid.IntRange(0, 3).Draw(rt, "limit")
		switch kind := rapid.IntRange(0, 5).Draw(rt, "kind"); {
		case kind == 0:
			return Paragraph{Text: anyText().Draw(rt, "text"), State: state.Draw(rt, "state")}
		case kind == 1:
			return Facts{{anyText().Draw(rt, "name"), anyText().Draw(rt, "text")}, {"run", anyText().Draw(rt, "text")}}
		case kind == 2:
			return List{Items: rapid.SliceOfN(anyText(), 0, 6).Draw(rt, "items"), Limit: limit}
		case kind == 3 && depth > 0:
			return Section{Heading: anyText().Draw(rt, "heading"), Blocks: rapid.SliceOfN(anyBlock(depth-1), 0, 3).Draw(rt, "blocks")}
		case kind == 4:
			return Charts{Seconds: []int64{0}, Charts: []Chart{{Title: anyText().Draw(rt, "title"), Curves: []Curve{{Label: anyText().Draw(rt, "label")}}}}}
		}
		columns := rapid.IntRange(1, 9).Draw(rt, "columns")
		t := Table{Limit: limit}
		for i := range columns {
			k := Kind(rapid.IntRange(0, int(Graph)).Draw(rt, "kind"))
			if k == Prose && i < columns-1 {
				k = Name
			}
			t.Columns = append(t.Columns, Column{anyText().Draw(rt, "column"), k})
		}
		for range rapid.IntRange(0, 5).Draw(rt, "rows") {
			row := make([]Cell, columns)
			for i := range row {
				row[i] = Cell{Text: anyText().Draw(rt, "cell"), State: state.Draw(rt, "state")}
				if t.Columns[i].Kind == Graph {
					row[i].Graph = rapid.SampledFrom([]Drawing{nil, Bars{1, 0.5}, Interval{Label: "a"}}).Draw(rt, "graph")
				}
			}
			t.Rows = append(t.Rows, row)
		}
		return t
	})
}
