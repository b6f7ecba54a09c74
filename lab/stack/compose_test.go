//go:build live

package stack

import (
	"database/sql"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/google/go-cmp/cmp"

	"assay.dev/assay/internal/servers/mysqld"
	"assay.dev/assay/internal/servers/mysqld/replication"
	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/mysqldtest"
)

// TestComposeAccounts checks that the accounts of docker-compose.yml have the same
// privileges as those of the local stack, with any password.
func TestComposeAccounts(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.4)
	u := newState().Users
	odd := map[string]string{"service": `it's \'; DROP USER root; -- "`, "collector": "per%cent $HOME `id`"}
	root := mysqldtest.StartInMemory(t, string(mysqld.MySQL)).DSN()
	if err := grant(t.Context(), root, mysqld.MySQL, replication.None, u); err != nil {
		t.Fatal(err)
	}
	db := mysqldtest.Open(t, root)
	for statement := range strings.SplitSeq(accountsSQL(t, odd), ";\n") {
		if statement = strings.TrimSpace(statement); statement == "" {
			continue
		}
		if _, err := db.Exec(statement); err != nil {
			t.Fatalf("%v: %s", err, statement)
		}
	}
	for kind, name := range map[string]string{"service": u.Service.Name, "collector": u.Collector.Name} {
		local, composed := grants(t, db, name, "127.0.0.1"), grants(t, db, name, "%")
		if diff := cmp.Diff(local, composed); diff != "" {
			t.Errorf("privileges of %s: of the stack (-), of the compose file (+):\n%s", name, diff)
		}
		// Otherwise the login would use the account for 127.0.0.1.
		if _, err := db.Exec("DROP USER '" + name + "'@'127.0.0.1'"); err != nil {
			t.Fatal(err)
		}
		c, err := mysql.ParseDSN(root)
		if err != nil {
			t.Fatal(err)
		}
		c.User, c.Passwd = name, odd[kind]
		if err := mysqldtest.Open(t, c.FormatDSN()).Ping(); err != nil {
			t.Errorf("%s cannot log in: %v", name, err)
		}
	}
}

// accountsSQL is what docker/mysql/accounts.sh sends to the mysql program.
func accountsSQL(t *testing.T, passwords map[string]string) string {
	t.Helper()
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "mysql"), []byte("#!/bin/sh\nexec cat\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), "bash", "-eo", "pipefail", "../../docker/mysql/accounts.sh")
	c.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "MYSQL_ROOT_PASSWORD=root",
		"ASSAY_SERVICE_PASSWORD="+passwords["service"], "ASSAY_COLLECTOR_PASSWORD="+passwords["collector"])
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// grants are the privileges of an account, without its name.
func grants(t *testing.T, db *sql.DB, user, host string) (found []string) {
	t.Helper()
	account := "'" + user + "'@'" + host + "'"
	rows, err := db.Query("SHOW GRANTS FOR " + account)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var g string
		if err := rows.Scan(&g); err != nil {
			t.Fatal(err)
		}
		found = append(found, strings.ReplaceAll(g, "`"+user+"`@`"+host+"`", "it"))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(found)
	return found
}
