package database

import (
	"strings"
	"testing"
)

func TestWithoutLiterals(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"UPDATE item2 SET n = n + $1 WHERE id = $2", "UPDATE item2 SET n = n + $1 WHERE id = $2"},
		{"ALTER ROLE bob PASSWORD 'hunter2' VALID UNTIL '2030'", "ALTER ROLE bob PASSWORD ? VALID UNTIL ?"},
		{"ALTER ROLE bob PASSWORD 'hunter2", "ALTER ROLE bob PASSWORD ?"},
		{"ALTER ROLE bob PASSWORD 'it''s hunter2'", "ALTER ROLE bob PASSWORD ?"},
		{`ALTER ROLE "it's" PASSWORD E'it\'s hunter2' LOGIN`, `ALTER ROLE "it's" PASSWORD ? LOGIN`},
		{`ALTER ROLE "a""b'c" PASSWORD e'hunter2\`, `ALTER ROLE "a""b'c" PASSWORD ?`},
		{`ALTER ROLE bob PASSWORD 'it\' hunter2' LOGIN`, "ALTER ROLE bob PASSWORD ?"}, // standard_conforming_strings=off
		{`ALTER ROLE bob PASSWORD U&'\0061hunter2' LOGIN`, "ALTER ROLE bob PASSWORD ? LOGIN"},
		{"DO $$BEGIN hunter2 'END$$ LANGUAGE plpgsql", "DO ? LANGUAGE plpgsql"},
		{"DO $ü$BEGIN $$ hunter2 $Ü$ 'END$ü$", "DO ?"},
		{"DO $body$hunter2", "DO ?"},
		{"TABLE a$b$c WHERE x='hunter2'AND y=$1", "TABLE a$b$c WHERE x=?AND y=$1"},
		{"CALL pay(4111111111111111, -1.5)", "CALL pay(?, -?)"},
		{"/* it's /* nested */ hunter2 */ ALTER -- don't hunter2\nROLE bob PASSWORD 'hunter2'", "  ALTER  \nROLE bob PASSWORD ?"},
		{"SELECT 1 /* hunter2", "SELECT ?  "},
		{"SET app.key TO hunter2, hunter2", "SET app.key TO  ?"},
		{"ALTER ROLE bob IN DATABASE shop SET app.key = hunter2", "ALTER ROLE bob IN DATABASE shop SET app.key = ?"},
		{"ALTER TABLE t SET (fillfactor = 70)", "ALTER TABLE t SET (fillfactor = ?)"},
		{"", ""},
	} {
		if got := WithoutLiterals(c.text); got != c.want && strings.TrimSpace(got) != c.want {
			t.Errorf("%s: %q, want %q", c.text, got, c.want)
		}
		for end := range len(c.text) { // the server may cut it anywhere
			if got := WithoutLiterals(c.text[:end]); strings.Contains(got, "hunter2") {
				t.Errorf("%s: %q", c.text[:end], got)
			}
		}
	}
}
