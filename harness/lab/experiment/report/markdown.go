package report

import (
	"fmt"
	"strings"

	"assay/harness/lab/experiment"
)

// Markdown is the result for a pull request or a report, in GitHub's flavour.
func Markdown(d experiment.Document) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n", escape(d.Name+": "+d.Description))
	if d.State != experiment.Done {
		fmt.Fprintf(&b, "**%s**\n\n", escape(d.Sentence))
	}
	for _, f := range facts(d)[1:] {
		fmt.Fprintf(&b, "- %s: %s\n", f.Name, escape(f.Text))
	}
	b.WriteByte('\n')
	for _, e := range d.Effects {
		fmt.Fprintf(&b, "### %s: %s\n\n%s\n\n", escape(e.Variant), e.Outcome, escape(e.Sentence))
		for _, t := range tables(d, e) {
			markTable(&b, t)
		}
	}
	if t := capacities(d); len(t.Rows) > 0 {
		markTable(&b, t)
	}
	if all := limitations(d); len(all) > 0 {
		b.WriteString("#### Limitations\n\n")
		for _, text := range all {
			fmt.Fprintf(&b, "- %s\n", escape(text))
		}
	}
	return []byte(b.String())
}

func markTable(b *strings.Builder, t table) {
	fmt.Fprintf(b, "#### %s\n\n", escape(t.Heading))
	for i, row := range t.Rows {
		for _, cell := range row {
			fmt.Fprintf(b, "| %s ", escape(cell))
		}
		b.WriteString("|\n")
		if i == 0 {
			b.WriteString(strings.Repeat("|---", len(row)) + "|\n")
		}
	}
	b.WriteByte('\n')
}

// escape leaves nothing in a text that Markdown or a table would read.
func escape(s string) string {
	s = strings.Map(printable, strings.Join(strings.Fields(s), " "))
	return strings.NewReplacer(`\`, `\\`, "|", `\|`, "<", "&lt;", "*", `\*`, "_", `\_`, "`", "\\`", "[", `\[`).Replace(s)
}
