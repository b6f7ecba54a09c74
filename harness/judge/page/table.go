package page

import "slices"

// Table has cells below the names of their columns. Where no column has a name
// the table has no heading.
type Table struct {
	Columns []Column
	Rows    [][]Cell
	Most    int // rows shown; 0: all
}

// Column heads the cells below it.
type Column struct {
	Name string
	Kind Kind
}

// Kind is how the cells of a column are set.
type Kind int

// The kinds.
const (
	Name   Kind = iota // to the left; the first to be shortened, in its middle, where room is scarce
	Word               // to the left, short
	Number             // to the right
	Prose              // to the left, and goes on in further lines; as the last column only
	Graph              // drawn, where the medium can; left out elsewhere
)

// Names are columns of names.
func Names(names ...string) []Column { return columns(Name, names) }

// Words are columns of words.
func Words(names ...string) []Column { return columns(Word, names) }

// Numbers are columns of numbers.
func Numbers(names ...string) []Column { return columns(Number, names) }

func columns(kind Kind, names []string) (all []Column) {
	for _, n := range names {
		all = append(all, Column{n, kind})
	}
	return all
}

// Cell is one field of a table.
type Cell struct {
	Text  string
	State State
	Graph Drawing // of a column of graphs; nil: nothing is drawn
}

// Cells are plain texts.
func Cells(texts ...string) (row []Cell) {
	for _, t := range texts {
		row = append(row, Cell{Text: t})
	}
	return row
}

// Drawing is Bars or an Interval.
type Drawing interface{ drawing() }

// Bars are two lengths, one above the other, as shares of the longest of the table.
type Bars struct{ Upper, Lower float64 }

// Interval is where a value may lie, from 0 at the left end of an axis to 1 at the
// right, over a band around the axis' middle. A nil place is not known.
type Interval struct {
	Label            string // read aloud in place of the drawing
	State            State
	From, To, Value  *float64
	BandFrom, BandTo float64
}

func (Bars) drawing()     {}
func (Interval) drawing() {}

// text is the table without what only HTML can draw, and without columns in which
// nothing stands.
func (t Table) text() Table {
	var keep []int
	for i, c := range t.Columns {
		empty := !slices.ContainsFunc(t.Rows, func(row []Cell) bool { return row[i].Text != "" })
		if c.Kind != Graph && !empty {
			keep = append(keep, i)
		}
	}
	out := Table{Most: t.Most, Columns: pick(t.Columns, keep)}
	for _, row := range t.Rows {
		out.Rows = append(out.Rows, pick(row, keep))
	}
	return out
}

func pick[T any](all []T, keep []int) (picked []T) {
	for _, i := range keep {
		picked = append(picked, all[i])
	}
	return picked
}

// Headed reports whether any column has a name.
func (t Table) Headed() bool {
	return slices.ContainsFunc(t.Columns, func(c Column) bool { return c.Name != "" })
}
