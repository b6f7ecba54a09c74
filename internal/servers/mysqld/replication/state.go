package replication

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/google/renameio/v2"

	"assay.dev/assay/internal/servers/mysqld"
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
	Members int // members of the node's group, as far as it knows; Group only
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

// read reads the rows of a query by the names of their columns, NULL as empty.
func read(ctx context.Context, db *sql.DB, query string) (all []map[string]string, err error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	names, err := rows.Columns()
	values, into := make([]sql.NullString, len(names)), make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}
	for err == nil && rows.Next() {
		err = rows.Scan(into...)
		row := map[string]string{}
		for i, n := range names {
			row[n] = values[i].String
		}
		all = append(all, row)
	}
	return all, errors.Join(err, rows.Err())
}

func readGalera(ctx context.Context, db *sql.DB) (State, error) {
	rows, err := read(ctx, db, "SHOW GLOBAL STATUS WHERE Variable_name IN ('wsrep_cluster_status', 'wsrep_local_state_comment', 'wsrep_ready')")
	values := map[string]string{}
	for _, r := range rows {
		values[strings.ToLower(r["Variable_name"])] = r["Value"]
	}
	return galeraState(values), err
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
	rows, err := read(ctx, db, "SELECT MEMBER_STATE AS state, MEMBER_ID = @@server_uuid AS self FROM performance_schema.replication_group_members")
	var all []member
	for _, r := range rows {
		all = append(all, member{r["state"], r["self"] == "1"}) // NULL of a server that is in no group
	}
	return groupState(all), err
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
	return replicaState(status), err
}

// replicaStatus is the row of SHOW REPLICA STATUS by column, in MySQL's names; nil without
// a row.
func replicaStatus(ctx context.Context, db *sql.DB) (status map[string]string, err error) {
	rows, err := read(ctx, db, "SHOW REPLICA STATUS")
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	status = map[string]string{}
	for name, value := range rows[0] {
		status[strings.NewReplacer("Slave", "Replica", "Master", "Source").Replace(name)] = value
	}
	return status, nil
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

// Position is how far the data of a stopped Galera node are.
type Position struct {
	History string // UUID
	Number  int64  // number of the last write; -1: not known
}

func (p Position) String() string { return fmt.Sprintf("%s:%d", p.History, p.Number) }

// savedState is the file in which Galera keeps the position; after a crash it has none.
const savedState = "grastate.dat"

// GaleraPosition is the position of a node that is stopped. After a crash the server is
// asked for it, which takes about a second.
func GaleraPosition(ctx context.Context, o mysqld.Options) (Position, error) {
	text, err := os.ReadFile(filepath.Join(mysqld.DataDir(o.Dir), savedState))
	if err == nil {
		if p, err := parseSaved(string(text)); err == nil && p.Number >= 0 {
			return p, nil
		}
	}
	o.Args = append(append([]string{}, o.Args...), "--wsrep-recover")
	log, err := mysqld.Run(ctx, o)
	if err != nil {
		return Position{}, err
	}
	return parseRecovered(log)
}

var (
	savedUUID   = regexp.MustCompile(`(?m)^uuid:\s+(\S+)`)
	savedNumber = regexp.MustCompile(`(?m)^seqno:\s+(-?\d+)`)
	recovered   = regexp.MustCompile(`Recovered position:? ([0-9a-f-]{36}):(-?\d+)`)
)

func parseSaved(text string) (Position, error) {
	u, n := savedUUID.FindStringSubmatch(text), savedNumber.FindStringSubmatch(text)
	if u == nil || n == nil {
		return Position{}, errors.New("no position in " + savedState)
	}
	number, err := strconv.ParseInt(n[1], 10, 64)
	return Position{u[1], number}, err
}

func parseRecovered(log string) (Position, error) {
	m := recovered.FindStringSubmatch(log)
	if m == nil {
		return Position{}, errors.New("the server reported no position of its data (--wsrep-recover)")
	}
	number, err := strconv.ParseInt(m[2], 10, 64)
	return Position{m[1], number}, err
}

// PositionArgs are the options by which a server takes up its position, and, as the
// first node, begins a new group.
func PositionArgs(p Position, first bool) []string {
	args := []string{"--wsrep-start-position=" + p.String()}
	if first {
		args = append(args, "--wsrep-cluster-address=gcomm://")
	}
	return args
}

// AllowFirst lets a node that did not leave the group last begin a new one: the caller
// knows that no other node has more writes.
func AllowFirst(dir string) error {
	path := filepath.Join(mysqld.DataDir(dir), savedState)
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil // it was in no group yet
	}
	if err != nil {
		return err
	}
	return renameio.WriteFile(path, []byte(strings.Replace(string(text), "safe_to_bootstrap: 0", "safe_to_bootstrap: 1", 1)), 0o600)
}

// Furthest is the node whose data contain those of all others. Data of different
// histories cannot be compared.
func Furthest(positions map[string]Position) (string, error) {
	best, history := "", ""
	for name, p := range positions {
		switch {
		case best == "":
			best, history = name, p.History
		case p.History != history:
			return "", fmt.Errorf("nodes %s and %s have data of different histories", min(name, best), max(name, best))
		case p.Number > positions[best].Number, p.Number == positions[best].Number && name < best:
			best = name
		}
	}
	return best, nil
}

// FurthestMember is Furthest for servers of Group Replication, which run.
func FurthestMember(ctx context.Context, members map[string]*sql.DB) (string, error) {
	executed := map[string]string{}
	var db *sql.DB
	for name, m := range members {
		db = m
		var gtids string
		if err := m.QueryRowContext(ctx, "SELECT @@GLOBAL.gtid_executed").Scan(&gtids); err != nil {
			return "", fmt.Errorf("read executed transactions of %s: %w", name, err)
		}
		executed[name] = gtids
	}
	best := ""
	for name := range executed {
		all := true
		for _, other := range executed {
			var contained bool
			if err := db.QueryRowContext(ctx, "SELECT GTID_SUBSET(?, ?)", other, executed[name]).Scan(&contained); err != nil {
				return "", fmt.Errorf("compare executed transactions: %w", err)
			}
			all = all && contained
		}
		if all && (best == "" || name < best) {
			best = name
		}
	}
	if best == "" {
		return "", errors.New("each node has transactions that another lacks")
	}
	return best, nil
}
