// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"cmp"
	"embed"
	"encoding/json"
	"slices"
	"strings"
)

// Server is a kind of database server, as record.Database names it: MySQL and MariaDB
// are two servers of one family. Aurora counts as MySQL or PostgreSQL, by its SQL.
type Server string

// The servers that code refers to; the files in families list all.
const (
	MySQL      Server = "mysql"
	MariaDB    Server = "mariadb"
	PostgreSQL Server = "postgresql"
)

// The classes that code refers to; classes.json lists all.
const (
	Commit     = "commit"
	Binlog     = "binlog"
	RowLock    = "row lock"
	Storm      = "connection storm"
	CPU        = "CPU"
	Engine     = "engine"
	BufferPool = "buffer pool"
	Other      = "other" // class of unknown events, which keep their name
)

// Class describes a class of waits.
type Class struct {
	Name        string   `json:"class"`
	Component   string   `json:"component"` // component of a transaction's time
	Meaning     string   `json:"meaning"`
	Confirm     string   `json:"confirm"`     // how to confirm that it is the cause
	Experiments []string `json:"experiments"` // in scenarios/experiments, the most conclusive first
	Remedy      string   `json:"remedy"`
}

// entry describes events or states that match a pattern.
type entry struct {
	Pattern     string   `json:"pattern"`
	Servers     []Server `json:"servers"`
	Class       string   `json:"class"`
	Meaning     string   `json:"meaning"`
	Confirm     string   `json:"confirm"`
	Experiments []string `json:"experiments"`
	Remedy      string   `json:"remedy"`
	Source      string   `json:"source"`
}

// family holds the entries of one family of servers.
type family struct {
	Servers []Server `json:"servers"`
	Events  []entry  `json:"events"`
	States  []entry  `json:"states"`
}

//go:embed classes.json families/*.json
var files embed.FS

// knowledge merges all files. Every entry has its servers set.
type knowledge struct {
	Classes []Class `json:"classes"`
	family
}

var base = readAll()

func readAll() (k knowledge) {
	read("classes.json", &k)
	entries, _ := files.ReadDir("families") // embedded above
	for _, e := range entries {
		var f family
		read("families/"+e.Name(), &f)
		k.Servers = append(k.Servers, f.Servers...)
		k.Events = append(k.Events, f.withServers(f.Events)...)
		k.States = append(k.States, f.withServers(f.States)...)
	}
	return k
}

func read(name string, into any) {
	data, err := files.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		panic(name + ": " + err.Error()) // the file is embedded and tested
	}
}

// withServers sets the servers of entries that apply to the whole family.
func (f family) withServers(entries []entry) []entry {
	for i := range entries {
		if entries[i].Servers == nil {
			entries[i].Servers = f.Servers
		}
	}
	return entries
}

// Servers lists the servers whose waits are known.
func Servers() []Server { return slices.Clone(base.Servers) }

// ClassOf is the class of an event, named without the prefix wait/; Other if the event
// is unknown.
func ClassOf(s Server, event string) string {
	if e, ok := find(base.Events, s, func(pattern string) bool { return match(pattern, event) }); ok {
		return e.Class
	}
	return Other
}

// ClassOfState is the class inferred from the state of a session without a wait event;
// not ok if the state implies none. It ignores case.
func ClassOfState(s Server, state string) (class string, ok bool) {
	state = strings.ToLower(state)
	e, ok := find(base.States, s, func(pattern string) bool { return match(strings.ToLower(pattern), state) })
	return e.Class, ok
}

// About describes an event of this class: by the texts of the class, except those that
// the event's entry has itself.
func About(s Server, event, class string) Class {
	about := Class{Name: class, Component: class}
	if i := slices.IndexFunc(base.Classes, func(c Class) bool { return c.Name == class }); i >= 0 {
		about = base.Classes[i]
	}
	e, ok := find(base.Events, s, func(pattern string) bool { return match(pattern, event) })
	if !ok || e.Class != class {
		return about // a session's state, or a row lock that is reported as engine work
	}
	about.Meaning, about.Confirm, about.Remedy = e.Meaning, cmp.Or(e.Confirm, about.Confirm), cmp.Or(e.Remedy, about.Remedy)
	if e.Experiments != nil {
		about.Experiments = e.Experiments
	}
	return about
}

// Classes lists the names of all classes.
func Classes() (names []string) {
	for _, c := range base.Classes {
		names = append(names, c.Name)
	}
	return names
}

// ComponentOf is the component of a transaction's time to which a class belongs.
func ComponentOf(class string) string { return About("", "", class).Component }

func find(entries []entry, s Server, matches func(pattern string) bool) (entry, bool) {
	for _, e := range entries {
		if slices.Contains(e.Servers, s) && matches(e.Pattern) {
			return e, true
		}
	}
	return entry{}, false
}

func match(pattern, name string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(name, prefix)
	}
	return pattern == name
}
