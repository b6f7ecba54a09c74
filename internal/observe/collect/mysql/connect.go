package mysql

import (
	"cmp"
	"context"
	dbdriver "database/sql/driver"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync/atomic"

	driver "github.com/go-sql-driver/mysql"

	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/observe/database"
)

// connector opens connections that end at the server itself: a pooler is refused before
// anything is set on the connection.
type connector struct {
	config *driver.Config
	intake *database.Intake
}

// Driver is that of the connections.
func (connector) Driver() dbdriver.Driver { return driver.MySQLDriver{} }

// Connect connects, and sets what the DSN's parameters say.
func (c connector) Connect(ctx context.Context) (_ dbdriver.Conn, err error) {
	var dialled net.Conn
	defer func() {
		if err != nil && dialled != nil {
			_ = dialled.Close() // which the driver leaves open if it panics
		}
	}()
	defer foreign.Guard(&err)
	if err := database.CheckAddress(c.config.Addr); err != nil {
		return nil, err
	}
	heard := database.Heard{Intake: c.intake}
	config := c.config.Clone()
	config.Params = nil // the driver would set them at once
	var loggedIn atomic.Bool
	dial := heard.Dial(dialBounded(&loggedIn))
	config.DialFunc = func(ctx context.Context, network, address string) (_ net.Conn, err error) {
		dialled, err = dial(ctx, network, address)
		return dialled, err
	}
	bare, err := driver.NewConnector(config)
	if err != nil {
		return nil, unreadable(err)
	}
	opened, err := bare.Connect(ctx)
	if err != nil {
		return nil, dialect.Explain(err, &heard)
	}
	loggedIn.Store(true)
	conn := guarded{opened.(driverConn)}
	if err = direct(ctx, conn, &heard); err == nil {
		err = settle(ctx, conn, c.config)
	}
	if err != nil {
		_ = conn.Close()
		return nil, dialect.Explain(err, &heard)
	}
	heard.Accept()
	return conn, nil
}

// set sets variables of the session.
func set(ctx context.Context, conn dbdriver.Conn, variables map[string]string) error {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		all = append(all, name+" = "+variables[name])
	}
	if len(all) == 0 {
		return nil
	}
	_, err := conn.(dbdriver.ExecerContext).ExecContext(ctx, "SET "+strings.Join(all, ", "), nil)
	return err
}

// direct refuses a pooler: the session that executes statements is not the one whose number
// the greeting told, or a pooler names itself, as those numbers may be the same by chance. A
// proxy that only forwards bytes, as HAProxy in TCP mode does, passes the server's own greeting
// on.
func direct(ctx context.Context, conn dbdriver.Conn, heard *database.Heard) error {
	version, greeted, ok := heard.Greeting()
	if !ok {
		return errors.New("identify the server: its greeting is unreadable")
	}
	// With a second column: ProxySQL answers the query for this number alone by itself.
	session, err := firstOf(ctx, conn, "SELECT CONNECTION_ID() & 0xffffffff, VERSION()")
	if err != nil {
		return database.Unidentified(err)
	}
	comment, err := firstOf(ctx, conn, "SELECT @@version_comment LIMIT 1") // ProxySQL answers this by itself
	if err != nil && !refused(err) {
		return database.Unidentified(err)
	}
	switch product := productOf(version + " " + comment); {
	case session != fmt.Sprint(greeted):
		return database.Pooler(cmp.Or(product, "such as ProxySQL or MaxScale"), fmt.Sprintf("its greeting names session %d, and session %s answers", greeted, session))
	case product != "":
		return database.Pooler(product, "it names itself")
	}
	return nil
}

// productOf is the pooler that names itself in a text; empty: none.
func productOf(text string) string {
	for _, name := range []string{"ProxySQL", "MaxScale", "RDS Proxy", "MySQL Router", "Vitess"} {
		if strings.Contains(strings.ToLower(text), strings.ToLower(name)) {
			return name
		}
	}
	return ""
}

// firstOf is the first column of a query's first row, as text.
func firstOf(ctx context.Context, conn dbdriver.Conn, query string) (string, error) {
	rows, err := conn.(dbdriver.QueryerContext).QueryContext(ctx, query, nil)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	row := make([]dbdriver.Value, len(rows.Columns()))
	if err := rows.Next(row); err != nil {
		return "", err
	}
	if text, ok := row[0].([]byte); ok {
		return string(text), nil
	}
	return fmt.Sprint(row[0]), nil
}
