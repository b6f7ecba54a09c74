// SPDX-License-Identifier: Apache-2.0

package page

import "slices"

// Table is rows of cells. It has no header if no column has a name.
type Table struct {
	Columns []Column
	Rows    [][]Cell
	Limit   int // most rows shown; 0: all
}

// Column describes the cells of one column.
type Column struct {
	Name string
	Kind Kind
}

// Kind determines how the cells of a column are aligned and shortened.
type Kind int

// The kinds.
const (
	Name   Kind = iota // left-aligned; shortened first where a table is too wide
	Word               // left-aligned; shortened after names
	Number             // right-aligned; shortened last
	Prose              // left-aligned and wrapped; only as the last column
	Graph              // drawn in HTML; left out elsewhere
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
	Graph Drawing // in a column of kind Graph; nil: nothing is drawn
}

// Cells is a row of plain texts.
func Cells(texts ...string) (row []Cell) {
	for _, t := range texts {
		row = append(row, Cell{Text: t})
	}
	return row
}

// Drawing is Bars or an Interval.
type Drawing interface{ drawing() }

// Bars are two lengths, one above the other, as shares of the longest in the table.
type Bars struct{ Upper, Lower float64 }

// Interval is a value and its interval on an axis from 0 (left) to 1 (right), drawn over
// a band. A nil position is unknown.
type Interval struct {
	Label            string // for screen readers
	State            State
	From, To, Value  *float64
	BandFrom, BandTo float64
}

func (Bars) drawing()     {}
func (Interval) drawing() {}

// textOnly drops graphs and empty columns, but never the first column.
func (t Table) textOnly() Table {
	var keep []int
	for i, c := range t.Columns {
		empty := !slices.ContainsFunc(t.Rows, func(row []Cell) bool { return row[i].Text != "" })
		if c.Kind != Graph && (i == 0 || !empty) {
			keep = append(keep, i)
		}
	}
	out := Table{Limit: t.Limit, Columns: pick(t.Columns, keep)}
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
