package mysqldtest

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"assay.dev/assay/internal/servers/mysqld"
)

// Replica starts a server in memory, with these options in addition to the usual ones, that
// replicates all further writes of the source.
func Replica(t testing.TB, source *mysqld.Server, args ...string) *mysqld.Server {
	t.Helper()
	flavour := source.Binary().Flavour
	replica := StartInMemory(t, string(flavour), append([]string{"--server-id=2"}, args...)...)
	root := Open(t, source.DSN())
	Exec(t, root, "CREATE USER 'copy'@'%' IDENTIFIED BY 'c'", "GRANT REPLICATION SLAVE ON *.* TO 'copy'@'%'")
	show := "SHOW MASTER STATUS"
	if flavour == mysqld.MySQL {
		show = "SHOW BINARY LOG STATUS"
	}
	file, at := position(t, root, show)
	change := fmt.Sprintf("CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT=%d, MASTER_USER='copy', MASTER_PASSWORD='c', MASTER_LOG_FILE='%s', MASTER_LOG_POS=%d", source.Port(), file, at)
	if flavour == mysqld.MySQL {
		change = strings.ReplaceAll(strings.Replace(change, "CHANGE MASTER TO", "CHANGE REPLICATION SOURCE TO GET_SOURCE_PUBLIC_KEY=1,", 1), "MASTER_", "SOURCE_")
	}
	Exec(t, Open(t, replica.DSN()), change, "START REPLICA")
	return replica
}

// position is the end of the binlog: the first two columns of the statement's row.
func position(t testing.TB, db *sql.DB, statement string) (file string, at int64) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), statement)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	names, err := rows.Columns()
	if err != nil || !rows.Next() {
		t.Fatalf("%s: no row, %v", statement, err)
	}
	into := []any{&file, &at}
	for range names[2:] {
		into = append(into, new(sql.NullString))
	}
	if err := rows.Scan(into...); err != nil {
		t.Fatal(err)
	}
	return file, at
}
