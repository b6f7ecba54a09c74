package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"assay.dev/assay/internal/observe/collect/sampling"
)

// owner is who opened a session, as the threads table has it.
type owner struct {
	thread, connection uint64
	user, host, schema string
}

// clients names the clients of sessions. User, host and schema are often the same for
// several programs, which their connection attributes tell apart. They are read once per
// connection, together for those that are new in a sample.
type clients struct {
	labels  sampling.Clients
	byOwner map[uint64]string // by thread
}

// maxKnown bounds byOwner: a service may open a connection per request.
const maxKnown = 4096

// name returns the labels of the sessions' clients, in their order. If the attributes
// cannot be read, clients are told apart by user, host and schema.
func (c *clients) name(ctx context.Context, l *link, sessions []owner) []string {
	if c.labels == nil {
		c.labels = sampling.Clients{}
	}
	if c.byOwner == nil || len(c.byOwner) > maxKnown {
		c.byOwner = map[uint64]string{}
	}
	var unknown []string
	for _, s := range sessions {
		if _, ok := c.byOwner[s.thread]; !ok {
			unknown = append(unknown, fmt.Sprint(s.connection))
		}
	}
	attributes := map[uint64]sampling.Client{}
	if len(unknown) > 0 {
		// An error that breaks the connection is that of the next statement too.
		_ = l.query(ctx, "SELECT PROCESSLIST_ID, ATTR_NAME, ATTR_VALUE FROM performance_schema.session_connect_attrs"+
			" WHERE PROCESSLIST_ID IN ("+strings.Join(unknown, ", ")+") AND ATTR_NAME IN ('_client_name', 'program_name', '_pid')", nil,
			func(rows *sql.Rows) error {
				var id uint64
				var name, value sql.NullString
				if err := rows.Scan(&id, &name, &value); err != nil {
					return err
				}
				of := attributes[id]
				switch {
				case name.String == "_pid":
					of.Process = value.String
				case name.String == "program_name" || of.Program == "":
					of.Program = value.String
				}
				attributes[id] = of
				return nil
			})
	}
	labels := make([]string, len(sessions))
	for i, s := range sessions {
		label, ok := c.byOwner[s.thread]
		if !ok {
			of := attributes[s.connection]
			of.User, of.Host, of.Schema = s.user, s.host, s.schema
			label = c.labels.Label(of)
			if s.user != "" { // else it has not logged in yet
				c.byOwner[s.thread] = label
			}
		}
		labels[i] = label
	}
	return labels
}
