package replication

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// State is what a node says of itself.
type State struct {
	Text string // the server's own words, such as "Primary, Synced"
	// Quorum: it belongs to the part of the group that has the majority. True without
	// a group.
	Quorum bool
	// Ready: it executes queries on current data: a member in full, or a reader that
	// replicates.
	Ready    bool
	ReadOnly bool
	// Outside: it has left its group, and does not come back by itself.
	Outside bool
	Members int // of its group, as far as the node knows; Group only
}

// Writable reports whether the node executes writes.
func (s State) Writable() bool { return s.Ready && !s.ReadOnly }

// Read asks a node for its state. For Binlog it needs the rights to read the replica's
// status, for Group to read performance_schema.
func Read(ctx context.Context, db *sql.DB, k Kind, reader bool) (State, error) {
	var s State
	var err error
	switch {
	case k == Galera:
		s, err = readGalera(ctx, db)
	case k == Group:
		s, err = readGroup(ctx, db)
	case k == Binlog && reader:
		s, err = readReplica(ctx, db)
	default:
		s = State{Quorum: true, Ready: true}
	}
	if err == nil && s.Ready {
		// Not before it is ready: a node of Galera without quorum refuses the query.
		err = db.QueryRowContext(ctx, "SELECT @@GLOBAL.read_only").Scan(&s.ReadOnly)
	}
	if err != nil {
		return State{}, fmt.Errorf("read state of node: %w", err)
	}
	return s, nil
}

func readGalera(ctx context.Context, db *sql.DB) (State, error) {
	rows, err := db.QueryContext(ctx, "SHOW GLOBAL STATUS WHERE Variable_name IN ('wsrep_cluster_status', 'wsrep_local_state_comment', 'wsrep_ready')")
	if err != nil {
		return State{}, err
	}
	defer func() { _ = rows.Close() }()
	values := map[string]string{}
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			return State{}, err
		}
		values[strings.ToLower(name)] = value
	}
	return galeraState(values), rows.Err()
}

// galeraState is the state by the server's status variables. Any other component than the
// primary one has lost the majority.
func galeraState(values map[string]string) State {
	s := State{
		Quorum: values["wsrep_cluster_status"] == "Primary",
		Text:   values["wsrep_cluster_status"] + ", " + values["wsrep_local_state_comment"],
	}
	s.Ready = s.Quorum && values["wsrep_ready"] == "ON" && values["wsrep_local_state_comment"] == "Synced"
	return s
}

// member is a row of performance_schema.replication_group_members.
type member struct {
	state string
	self  bool
}

func readGroup(ctx context.Context, db *sql.DB) (State, error) {
	rows, err := db.QueryContext(ctx, "SELECT MEMBER_STATE, MEMBER_ID = @@server_uuid FROM performance_schema.replication_group_members")
	if err != nil {
		return State{}, err
	}
	defer func() { _ = rows.Close() }()
	var all []member
	for rows.Next() {
		var m member
		var self sql.NullBool // of a server that is in no group
		if err := rows.Scan(&m.state, &self); err != nil {
			return State{}, err
		}
		m.self = self.Bool
		all = append(all, m)
	}
	return groupState(all), rows.Err()
}

// groupState is the state of the member that knows these members. One that cannot reach
// the majority takes itself for online.
func groupState(all []member) State {
	own, reachable := "OFFLINE", 0
	for _, m := range all {
		if m.self {
			own = m.state
		}
		if m.state == "ONLINE" || m.state == "RECOVERING" {
			reachable++
		}
	}
	s := State{Text: own, Members: len(all), Quorum: (own == "ONLINE" || own == "RECOVERING") && 2*reachable > len(all)}
	s.Ready = s.Quorum && own == "ONLINE"
	s.Outside = own == "OFFLINE" || own == "ERROR"
	if !s.Quorum && own == "ONLINE" {
		s.Text += fmt.Sprintf(", reaches %d of %d members", reachable, len(all))
	}
	return s
}

func readReplica(ctx context.Context, db *sql.DB) (State, error) {
	status, err := replicaStatus(ctx, db)
	if err != nil {
		return State{}, err
	}
	return replicaState(status), nil
}

// replicaStatus is the row of SHOW REPLICA STATUS by column, in MySQL's names; nil without
// a row.
func replicaStatus(ctx context.Context, db *sql.DB) (map[string]string, error) {
	rows, err := db.QueryContext(ctx, "SHOW REPLICA STATUS")
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	names, err := rows.Columns()
	if err != nil || !rows.Next() {
		return nil, err
	}
	values, into := make([]sql.NullString, len(names)), make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}
	if err := rows.Scan(into...); err != nil {
		return nil, err
	}
	status := map[string]string{}
	for i, n := range names {
		n = strings.NewReplacer("Slave", "Replica", "Master", "Source").Replace(n)
		status[n] = values[i].String
	}
	return status, rows.Err()
}

func replicaState(status map[string]string) State {
	receives, applies := status["Replica_IO_Running"], status["Replica_SQL_Running"]
	s := State{Quorum: true, Ready: receives == "Yes" && applies == "Yes", Text: "does not replicate"}
	switch {
	case s.Ready:
		s.Text = "replicates"
	case status["Last_SQL_Error"] != "":
		s.Text += ": " + status["Last_SQL_Error"]
	case status["Last_IO_Error"] != "":
		s.Text += ": " + status["Last_IO_Error"]
	}
	return s
}
