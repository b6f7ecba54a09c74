// SPDX-License-Identifier: Apache-2.0

package metric

import "strings"

// StatusVariables are status variables of databases.
type StatusVariables []string

// variables are those of MySQL and MariaDB, then those of PostgreSQL, whose sum is a metric
// that abort conditions name. A server has those of its family.
var variables = map[string]StatusVariables{
	DBConnections: {"Threads_connected", "connections"},
	DBDeadlocks:   {"Innodb_deadlocks", "deadlocks"},
	DBAborted:     {"Aborted_clients", "Aborted_connects", "sessions_abandoned", "sessions_fatal", "sessions_killed"},
}

// Variables are the status variables, values of db_counter or db_gauge, whose sum is a
// metric; nil: it is not read from status variables.
func Variables(name string) StatusVariables { return variables[name] }

func (v StatusVariables) text() string { return strings.Join(v, ", ") }
