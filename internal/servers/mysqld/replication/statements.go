package replication

import (
	"context"
	"database/sql"
	"fmt"

	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/servers/mysqld"
	"assay.dev/assay/internal/servers/process"
)

// Account is that by which the nodes log in to each other. It is a secret.
type Account struct{ User, Password string }

// Grants are the statements that give the account its privileges, under its quoted name.
func Grants(k Kind, account string) []string {
	switch k {
	case Binlog:
		return []string{"GRANT REPLICATION SLAVE ON *.* TO " + account}
	case Group:
		return []string{"GRANT REPLICATION SLAVE, CONNECTION_ADMIN, BACKUP_ADMIN, GROUP_REPLICATION_STREAM ON *.* TO " + account}
	}
	return nil // Galera's peers do not log in
}

// quiet keeps a session's statements, which hold the password, out of the statistics.
const quiet = "UPDATE performance_schema.threads SET INSTRUMENTED = 'NO' WHERE PROCESSLIST_ID = CONNECTION_ID()"

// run executes statements in one session.
func run(ctx context.Context, db *sql.DB, a Account, statements ...string) error {
	c, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	for _, s := range append([]string{quiet}, statements...) {
		if _, err := c.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("%s", mask.Text(err.Error()))
		}
	}
	return nil
}

// Follow makes a reader, which is a copy of the writer, replicate from it.
func Follow(ctx context.Context, reader *sql.DB, f mysqld.Flavour, port int, a Account) error {
	status, err := replicaStatus(ctx, reader)
	if err == nil {
		err = run(ctx, reader, a, follow(f, status == nil, port, a)...)
	}
	if err != nil {
		return fmt.Errorf("replicate from port %d: %w", port, err)
	}
	return nil
}

// follow: a new MariaDB replica has the writer's binlog up to the copy, and begins behind
// it; MySQL derives the same from its own list of transactions.
func follow(f mysqld.Flavour, fresh bool, port int, a Account) []string {
	if f == mysqld.MySQL {
		return []string{
			"STOP REPLICA",
			fmt.Sprintf("CHANGE REPLICATION SOURCE TO SOURCE_HOST = '%s', SOURCE_PORT = %d, SOURCE_USER = '%s', SOURCE_PASSWORD = '%s', "+
				"SOURCE_AUTO_POSITION = 1, GET_SOURCE_PUBLIC_KEY = 1, SOURCE_CONNECT_RETRY = 1, SOURCE_RETRY_COUNT = 86400", process.Loopback, port, a.User, a.Password),
			"START REPLICA",
		}
	}
	list := []string{"STOP SLAVE"}
	if fresh {
		list = append(list, "SET GLOBAL gtid_slave_pos = @@GLOBAL.gtid_binlog_pos")
	}
	return append(
		list,
		fmt.Sprintf("CHANGE MASTER TO MASTER_HOST = '%s', MASTER_PORT = %d, MASTER_USER = '%s', MASTER_PASSWORD = '%s', "+
			"MASTER_USE_GTID = slave_pos, MASTER_CONNECT_RETRY = 1", process.Loopback, port, a.User, a.Password),
		"START SLAVE",
	)
}

// JoinGroup makes a server of Group Replication a member: of a new group if it is the
// first one. It returns before the member has received what it lacks.
func JoinGroup(ctx context.Context, db *sql.DB, first bool, a Account) error {
	start := fmt.Sprintf("START GROUP_REPLICATION USER = '%s', PASSWORD = '%s'", a.User, a.Password)
	list := []string{"STOP GROUP_REPLICATION", start} // it may be in the state ERROR
	if first {
		list = []string{"SET GLOBAL group_replication_bootstrap_group = ON", start}
	}
	err := run(ctx, db, a, list...)
	if first {
		// In any case: a later start would make a second group.
		if off := run(ctx, db, a, "SET GLOBAL group_replication_bootstrap_group = OFF"); err == nil {
			err = off
		}
	}
	if err != nil {
		return fmt.Errorf("join group: %w", err)
	}
	return nil
}
