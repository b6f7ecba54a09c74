package plain

import "strings"

// Shape of tables: what stands before a row and between its cells, and what the
// names of the first column keep where numbers take much room.
const (
	tableIndent = 2
	tableGap    = 2
	leastName   = 12
)

// Table writes rows as wide as what stands in them: names on the left, a word at
// the end, numbers between them to the right; columns in which nothing stands
// are left out. What does not fit is taken from the names first. paint, if any,
// colours the last cell of a row.
func (p *Page) Table(rows [][]string, paint func(row int, text string) string) {
	w := widths(rows)
	for n, row := range rows {
		line := strings.Repeat(" ", tableIndent) + Left(row[0], w[0])
		last := len(row) - 1
		for i := 1; i < last; i++ {
			if w[i] > 0 {
				line += strings.Repeat(" ", tableGap) + Right(row[i], w[i])
			}
		}
		word := Clip(row[last], w[last])
		if paint != nil {
			word = paint(n, word)
		}
		p.Line(line, strings.Repeat(" ", tableGap), word)
	}
}

// widths are those of the columns.
func widths(rows [][]string) []int {
	var w []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(w) {
				w = append(w, 0)
			}
			w[i] = max(w[i], Width(Clean(cell)))
		}
	}
	for over := total(w) - Columns; over > 0; over-- {
		at := 0
		if w[0] <= leastName {
			for i := range w {
				if w[i] > w[at] {
					at = i
				}
			}
		}
		w[at]--
	}
	return w
}

// total is how long the lines of a table are.
func total(w []int) int {
	n := tableIndent + w[0]
	for _, cell := range w[1:] {
		if cell > 0 {
			n += tableGap + cell
		}
	}
	return n
}
