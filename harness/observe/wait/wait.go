package wait

import (
	"embed"
	"encoding/json"
	"slices"
	"strings"
)

// Server is a kind of database server, as record.Database names it: MySQL and
// MariaDB are two of one family. Aurora belongs to the kind whose language it speaks.
type Server string

// The servers that code has to name; the files in families have them all.
const (
	MySQL      Server = "mysql"
	MariaDB    Server = "mariadb"
	PostgreSQL Server = "postgresql"
)

// The classes that code has to name; classes.json has them all.
const (
	Commit     = "commit"
	Binlog     = "binlog"
	RowLock    = "row lock"
	Storm      = "connection storm"
	CPU        = "CPU"
	Engine     = "engine"
	BufferPool = "buffer pool"
	Other      = "other" // of events that are not known: they keep their name
)

// Class is what waits of one kind have in common.
type Class struct {
	Name        string   `json:"class"`
	Component   string   `json:"component"` // of a transaction's time, that it belongs to
	Meaning     string   `json:"meaning"`
	Confirm     string   `json:"confirm"`     // what would show that it is the cause
	Experiments []string `json:"experiments"` // in scenarios/experiments, the most telling first
	Remedy      string   `json:"remedy"`
}

// entry is an event or a state.
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

// family is what is known of the waits of one family of servers.
type family struct {
	Servers []Server `json:"servers"`
	Events  []entry  `json:"events"`
	States  []entry  `json:"states"`
}

//go:embed classes.json families/*.json
var files embed.FS

// knowledge is all that the files say. Every entry names its servers.
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
		k.Events = append(k.Events, f.named(f.Events)...)
		k.States = append(k.States, f.named(f.States)...)
	}
	return k
}

func read(name string, into any) {
	data, err := files.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		panic(name + ": " + err.Error()) // the test reads it too
	}
}

// named completes entries that are of all the family's servers.
func (f family) named(entries []entry) []entry {
	for i := range entries {
		if entries[i].Servers == nil {
			entries[i].Servers = f.Servers
		}
	}
	return entries
}

// Servers are those whose waits are known.
func Servers() []Server { return slices.Clone(base.Servers) }

// ClassOf is the class of an event, whose name stands without the prefix wait/;
// Other where it is not known.
func ClassOf(s Server, event string) string {
	if e, ok := find(base.Events, s, func(pattern string) bool { return match(pattern, event) }); ok {
		return e.Class
	}
	return Other
}

// ClassOfState is the class that a session's state tells of where no wait event
// shows; not ok where it tells of none. Upper and lower case are the same.
func ClassOfState(s Server, state string) (class string, ok bool) {
	state = strings.ToLower(state)
	e, ok := find(base.States, s, func(pattern string) bool { return match(strings.ToLower(pattern), state) })
	return e.Class, ok
}

// About is what is known of an event of this class: the class's text, and where
// the event has more to say its own.
func About(s Server, event, class string) Class {
	about := Class{Name: class, Component: class}
	if i := slices.IndexFunc(base.Classes, func(c Class) bool { return c.Name == class }); i >= 0 {
		about = base.Classes[i]
	}
	e, ok := find(base.Events, s, func(pattern string) bool { return match(pattern, event) })
	if !ok || e.Class != class {
		return about // a session's state, or a row lock that shows as engine work
	}
	about.Meaning = e.Meaning
	if e.Confirm != "" {
		about.Confirm = e.Confirm
	}
	if e.Experiments != nil {
		about.Experiments = e.Experiments
	}
	if e.Remedy != "" {
		about.Remedy = e.Remedy
	}
	return about
}

// Classes are the names of all classes.
func Classes() (names []string) {
	for _, c := range base.Classes {
		names = append(names, c.Name)
	}
	return names
}

// ComponentOf is the component that a class belongs to.
func ComponentOf(class string) string { return About("", "", class).Component }

func find(entries []entry, s Server, fits func(pattern string) bool) (entry, bool) {
	for _, e := range entries {
		if slices.Contains(e.Servers, s) && fits(e.Pattern) {
			return e, true
		}
	}
	return entry{}, false
}

func match(pattern, name string) bool {
	if start, any := strings.CutSuffix(pattern, "*"); any {
		return strings.HasPrefix(name, start)
	}
	return pattern == name
}
