package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
)

// logged says which of the server's logs take the collector's statements although its
// session asks for the opposite (flavour.session), and what keeps them out. At 13 statements
// per second of about 1 kB each, most of them samples, that is 15 kB per second.
func (c *Collector) logged(ctx context.Context) (burdens []string, err error) {
	v := map[string]string{}
	err = c.link.query(ctx, "SHOW SESSION VARIABLES WHERE Variable_name IN ('general_log', 'sql_log_off', 'slow_query_log', 'log_queries_not_using_indexes', 'min_examined_row_limit')", nil,
		func(rows *sql.Rows) error {
			var name, value string
			err := rows.Scan(&name, &value)
			v[name] = value
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("read which statements are logged: %w", err)
	}
	exempt := 0 // the general log respects sql_log_off of these users alone, on MySQL
	err = c.link.query(ctx, "SELECT COUNT(*) FROM information_schema.USER_PRIVILEGES WHERE PRIVILEGE_TYPE IN ('SUPER', 'CONNECTION_ADMIN') AND GRANTEE = CONCAT('''', REPLACE(CURRENT_USER(), '@', '''@'''), '''')", nil,
		func(rows *sql.Rows) error { return rows.Scan(&exempt) })
	if err != nil {
		return nil, fmt.Errorf("read which statements are logged: %w", err)
	}
	const cost = "database: a run adds its collector's statements to the server's %s, about 15 kB per second; run as an administrator: "
	if v["general_log"] == "ON" && (v["sql_log_off"] != "ON" || exempt == 0) {
		burdens = append(burdens, fmt.Sprintf(cost+"SET GLOBAL general_log = OFF; -- or: GRANT %s ON *.* TO %s;", "general log", c.link.flavour.logRights, c.account(ctx)))
	}
	if least, err := strconv.ParseUint(v["min_examined_row_limit"], 10, 64); v["slow_query_log"] == "ON" && v["log_queries_not_using_indexes"] == "ON" && err == nil && least < manyRows {
		burdens = append(burdens, fmt.Sprintf(cost+"GRANT SESSION_VARIABLES_ADMIN ON *.* TO %s;", "slow query log (log_queries_not_using_indexes)", c.account(ctx)))
	}
	return burdens, nil
}
