package dbserver_test

import (
	"database/sql"
	"testing"

	"assay/harness/lab/stack/dbserver/dbservertest"
)

func TestStart(t *testing.T) {
	for _, f := range []string{"mysql", "mariadb"} {
		t.Run(f, func(t *testing.T) {
			s := dbservertest.Start(t, f)
			db, err := sql.Open("mysql", s.DSN())
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			var v string
			if err := db.QueryRow("SELECT VERSION()").Scan(&v); err != nil {
				t.Fatal(err)
			}
			t.Log(v, s.Port(), s.Pid())
		})
	}
}
