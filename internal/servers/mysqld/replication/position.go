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

// Position is how far the data of a stopped Galera node are.
type Position struct {
	History string // UUID
	Number  int64  // of the last write; -1: not known
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
