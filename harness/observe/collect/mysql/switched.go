package mysql

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// switched is the former state of what was switched on. Exactly that is restored.
type switched struct {
	Consumers   []string     `json:"consumers,omitempty"` // were off
	Instruments []instrument `json:"instruments,omitempty"`
}

// instrument is the former state of a row of setup_instruments, YES or NO in each
// column.
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

func (s switched) empty() bool { return len(s.Consumers)+len(s.Instruments) == 0 }

func (s switched) has(name string) bool {
	return slices.Contains(s.Consumers, name) || slices.ContainsFunc(s.Instruments, func(i instrument) bool { return i.Name == name })
}

// and adds what is not in s yet: what was found first is the former state.
func (s switched) and(more switched) switched {
	return switched{
		append(slices.Clone(s.Consumers), slices.DeleteFunc(slices.Clone(more.Consumers), s.has)...),
		append(slices.Clone(s.Instruments), slices.DeleteFunc(slices.Clone(more.Instruments), func(i instrument) bool { return s.has(i.Name) })...),
	}
}

// without removes names.
func (s switched) without(names []string) switched {
	gone := func(name string) bool { return slices.Contains(names, name) }
	return switched{
		slices.DeleteFunc(slices.Clone(s.Consumers), gone),
		slices.DeleteFunc(slices.Clone(s.Instruments), func(i instrument) bool { return gone(i.Name) }),
	}
}

// names lists what was switched on, for the record.
func (s switched) names() []string {
	all := namesOf(s.Instruments)
	for _, c := range s.Consumers {
		all = append(all, "consumer/"+c)
	}
	slices.Sort(all)
	return all
}

// switchOn are the changes that switch everything on.
func (s switched) switchOn() (all []change) {
	if names := s.Consumers; len(names) > 0 {
		all = append(all, change{setupConsumers, "UPDATE performance_schema.setup_consumers SET ENABLED = 'YES' WHERE NAME IN " + list(names), names})
	}
	if names := namesOf(s.Instruments); len(names) > 0 {
		all = append(all, change{
			setupInstruments, "UPDATE performance_schema.setup_instruments SET ENABLED = 'YES', TIMED = IF(NAME = " + quote(timed) + ", 'YES', TIMED) WHERE NAME IN " + list(names), names,
		})
	}
	return all
}

// restore are the changes back: a statement for each former state.
func (s switched) restore() (all []change) {
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

// restoreSQL is restore in one line, for an administrator.
func (s switched) restoreSQL() string {
	var all []string
	for _, c := range s.restore() {
		all = append(all, c.statement+";")
	}
	return strings.Join(all, " ")
}

func namesOf(rows []instrument) []string {
	names := make([]string, len(rows))
	for i, r := range rows {
		names[i] = r.Name
	}
	return names
}

// list writes names as an SQL list.
func list(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = quote(n)
	}
	return "(" + strings.Join(quoted, ", ") + ")"
}

// quote writes an SQL string; doubling the quote is right in every SQL mode.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
