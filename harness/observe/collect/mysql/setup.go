package mysql

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// formerSetup is the state before the run of the consumers and instruments that it
// enabled. Exactly these rows are restored.
type formerSetup struct {
	Consumers   []string     `json:"consumers,omitempty"` // were disabled
	Instruments []instrument `json:"instruments,omitempty"`
}

// instrument is the former state of a row of setup_instruments; each column is YES or
// NO.
type instrument struct {
	Name    string `json:"name"`
	Enabled string `json:"enabled"`
	Timed   string `json:"timed"`
}

// change is a statement that changes rows of a setup table.
type change struct {
	table, statement string
	names            []string
}

func (s formerSetup) empty() bool { return len(s.Consumers)+len(s.Instruments) == 0 }

func (s formerSetup) has(name string) bool {
	return slices.Contains(s.Consumers, name) || slices.ContainsFunc(s.Instruments, func(i instrument) bool { return i.Name == name })
}

// union returns s with the rows of more that it lacks. For the others the state in s was
// read earlier, so it is the former one.
func (s formerSetup) union(more formerSetup) formerSetup {
	return formerSetup{
		append(slices.Clone(s.Consumers), slices.DeleteFunc(slices.Clone(more.Consumers), s.has)...),
		append(slices.Clone(s.Instruments), slices.DeleteFunc(slices.Clone(more.Instruments), func(i instrument) bool { return s.has(i.Name) })...),
	}
}

// except returns s without the rows of these names.
func (s formerSetup) except(names []string) formerSetup {
	excepted := func(name string) bool { return slices.Contains(names, name) }
	return formerSetup{
		slices.DeleteFunc(slices.Clone(s.Consumers), excepted),
		slices.DeleteFunc(slices.Clone(s.Instruments), func(i instrument) bool { return excepted(i.Name) }),
	}
}

// names lists the enabled rows, for the record.
func (s formerSetup) names() []string {
	all := instrumentNames(s.Instruments)
	for _, c := range s.Consumers {
		all = append(all, "consumer/"+c)
	}
	slices.Sort(all)
	return all
}

// enable returns the changes that enable all rows.
func (s formerSetup) enable() (all []change) {
	if names := s.Consumers; len(names) > 0 {
		all = append(all, change{setupConsumers, "UPDATE performance_schema.setup_consumers SET ENABLED = 'YES' WHERE NAME IN " + list(names), names})
	}
	if names := instrumentNames(s.Instruments); len(names) > 0 {
		all = append(all, change{
			setupInstruments, "UPDATE performance_schema.setup_instruments SET ENABLED = 'YES', TIMED = IF(NAME = " + quote(timedInstrument) + ", 'YES', TIMED) WHERE NAME IN " + list(names), names,
		})
	}
	return all
}

// restore returns the changes that restore the former state, one statement per state.
func (s formerSetup) restore() (all []change) {
	byState := map[[2]string][]string{}
	for _, i := range s.Instruments {
		state := [2]string{i.Enabled, i.Timed}
		byState[state] = append(byState[state], i.Name)
	}
	for _, state := range slices.SortedFunc(maps.Keys(byState), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		names := slices.Sorted(slices.Values(byState[state]))
		all = append(all, change{
			setupInstruments, fmt.Sprintf("UPDATE performance_schema.setup_instruments SET ENABLED = %s, TIMED = %s WHERE NAME IN %s", quote(state[0]), quote(state[1]), list(names)), names,
		})
	}
	if names := s.Consumers; len(names) > 0 {
		all = append(all, change{setupConsumers, "UPDATE performance_schema.setup_consumers SET ENABLED = 'NO' WHERE NAME IN " + list(names), names})
	}
	return all
}

// restoreSQL returns the statements of restore on one line, for an administrator.
func (s formerSetup) restoreSQL() string {
	var all []string
	for _, c := range s.restore() {
		all = append(all, c.statement+";")
	}
	return strings.Join(all, " ")
}

func instrumentNames(rows []instrument) []string {
	names := make([]string, len(rows))
	for i, r := range rows {
		names[i] = r.Name
	}
	return names
}

// list formats names as an SQL list.
func list(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = quote(n)
	}
	return "(" + strings.Join(quoted, ", ") + ")"
}

// quote formats an SQL string literal. Doubling a quote is valid in every SQL mode.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
