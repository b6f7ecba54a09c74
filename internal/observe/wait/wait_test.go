package wait

import (
	"bytes"
	"io/fs"
	"os"
	"slices"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

func TestKnowledgeFollowsItsSchema(t *testing.T) {
	schemaText, err := os.ReadFile("knowledge.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schemaText))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("knowledge.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("knowledge.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	check := func(text []byte) error {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			return err
		}
		return schema.Validate(doc)
	}
	names, err := fs.Glob(files, "*/*.json")
	if err != nil || len(names) == 0 {
		t.Fatalf("no families: %v", err)
	}
	for _, name := range append(names, "classes.json") {
		data, err := files.ReadFile(name)
		if err == nil {
			err = check(data)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, c := range []struct{ file, was, bad string }{
		{"families/mysql.json", `"source": "seen on MySQL 9.7.4"`, `"origin": "seen"`},
		{"families/mysql.json", `"servers": ["mysql", "mariadb"]`, `"servers": []`},
		{"families/mysql.json", `"pattern": "io/file/sql/binlog"`, `"pattern": "io/*/binlog"`},
		{"classes.json", `"experiments": ["buffer-pool"]`, `"experiments": ["Buffer pool"]`},
		{"classes.json", `"component": "commit"`, `"component": ""`},
	} {
		data, err := files.ReadFile(c.file)
		if err != nil {
			t.Fatal(err)
		}
		changed := bytes.Replace(data, []byte(c.was), []byte(c.bad), 1)
		if bytes.Equal(changed, data) {
			t.Errorf("%s is not in %s", c.was, c.file)
		} else if check(changed) == nil {
			t.Errorf("%s: %s is valid in place of %s", c.file, c.bad, c.was)
		}
	}
}

// Every server belongs to exactly one family, and entries name only servers of a family.
func TestServersOfFamilies(t *testing.T) {
	for _, s := range []Server{MySQL, MariaDB, PostgreSQL} {
		if !slices.Contains(Servers(), s) {
			t.Errorf("%s belongs to no family", s)
		}
	}
	if all := Servers(); len(slices.Compact(slices.Sorted(slices.Values(all)))) != len(all) {
		t.Errorf("a server belongs to two families: %q", all)
	}
	for _, e := range slices.Concat(base.Events, base.States) {
		for _, s := range e.Servers {
			if !slices.Contains(base.Servers, s) {
				t.Errorf("%s is for %s, which belongs to no family", e.Pattern, s)
			}
		}
	}
}

// Every class of an entry is described exactly once, and no entry is shadowed by an
// earlier one.
func TestKnowledgeIsComplete(t *testing.T) {
	var names []string
	for _, c := range base.Classes {
		if slices.Contains(names, c.Name) {
			t.Errorf("class %q is described twice", c.Name)
		}
		names = append(names, c.Name)
	}
	for _, name := range []string{Commit, Binlog, RowLock, Storm, CPU, Engine, BufferPool, Other} {
		if !slices.Contains(names, name) {
			t.Errorf("class %q is not described", name)
		}
	}
	for _, entries := range [][]entry{base.Events, base.States} {
		for i, e := range entries {
			if !slices.Contains(names, e.Class) {
				t.Errorf("%s: class %q is not described", e.Pattern, e.Class)
			}
			for _, before := range entries[:i] {
				for _, s := range e.Servers {
					if slices.Contains(before.Servers, s) && match(before.Pattern, e.Pattern) {
						t.Errorf("%s on %s is shadowed by %s", e.Pattern, s, before.Pattern)
					}
				}
			}
		}
	}
}

// Every experiment of an entry or a class exists.
func TestExperimentsExist(t *testing.T) {
	var all []string
	for _, c := range base.Classes {
		all = append(all, c.Experiments...)
	}
	for _, e := range base.Events {
		all = append(all, e.Experiments...)
	}
	for _, name := range all {
		if _, err := os.Stat("../../../scenarios/experiments/" + name + ".json"); err != nil {
			t.Error(err)
		}
	}
	if len(all) == 0 {
		t.Error("no class has an experiment")
	}
}

func TestAbout(t *testing.T) {
	for _, c := range []struct {
		server       Server
		event, class string
		component    string
		experiment   string // the first; empty: none
	}{
		{MySQL, "synch/cond/sql/MYSQL_BIN_LOG::COND_done", Binlog, "binlog", "binlog-off"},
		{MySQL, "io/file/sql/binlog", Binlog, "binlog", "sync-binlog"},
		{MySQL, "io/table/sql/handler", RowLock, "row lock", "spread-keys"},
		{MySQL, "waiting for handler commit", Commit, "commit", "payment-commits"},
		{MySQL, "io/table/sql/handler", Engine, "database CPU", ""},
		{MySQL, "synch/mutex/nobody/knows", Other, "other", ""},
		{MySQL, "x", "a class of tomorrow", "a class of tomorrow", ""},
	} {
		got := About(c.server, c.event, c.class)
		first := ""
		if len(got.Experiments) > 0 {
			first = got.Experiments[0]
		}
		if got.Component != c.component || first != c.experiment || got.Name != c.class {
			t.Errorf("%s of class %s: component %q, experiment %q, class %q", c.event, c.class, got.Component, first, got.Name)
		}
	}
	if class := ClassOf(MySQL, "synch/mutex/sql/LOG::LOCK_log"); class != Other {
		t.Errorf("the slow log's lock is of class %q on MySQL", class)
	}
	if class := ClassOf(MariaDB, "synch/mutex/sql/LOG::LOCK_log"); class != Binlog {
		t.Errorf("the binlog's lock is of class %q on MariaDB", class)
	}
	if class, ok := ClassOfState(MySQL, "Waiting for Handler Commit"); !ok || class != Commit {
		t.Errorf("the state is of class %q", class)
	}
	if _, ok := ClassOfState(PostgreSQL, "Commit"); ok {
		t.Error("a state of another server has a class")
	}
}
