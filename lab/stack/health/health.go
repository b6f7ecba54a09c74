package health

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"assay.dev/assay/internal/servers/mysqld/replication"
	"assay.dev/assay/internal/servers/process"
)

// The paths of the endpoint.
const (
	Writer = "/writer"
	Reader = "/reader"
)

// NodesEnv holds the DSNs of the nodes: NAME=DSN, separated by spaces.
const NodesEnv = "ASSAY_DB_NODES"

// patience bounds one check. A proxy asks twice a second and waits for one second.
const patience = 800 * time.Millisecond

// Handler answers for one node.
func Handler(db *sql.DB, k replication.Kind) http.Handler {
	mux := http.NewServeMux()
	check := func(usable func(replication.State) bool) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			ctx, cancel := context.WithTimeout(r.Context(), patience)
			defer cancel()
			// Whether a reader replicates does not matter: it executes queries.
			s, err := replication.Read(ctx, db, k, false)
			switch {
			case err != nil:
				http.Error(w, err.Error(), http.StatusServiceUnavailable)
			case !usable(s):
				http.Error(w, fmt.Sprintf("%s, read only: %t", s.Text, s.ReadOnly), http.StatusServiceUnavailable)
			}
		}
	}
	mux.HandleFunc("GET "+Writer, check(replication.State.Writable))
	mux.HandleFunc("GET "+Reader, check(func(s replication.State) bool { return s.Ready }))
	return mux
}

// Main serves until ctx ends. dsns is the value of NodesEnv, args are the kind of
// replication and NAME=PORT for each node.
func Main(ctx context.Context, dsns string, args []string) error {
	if len(args) < 2 {
		return errors.New("want a kind of replication, and NAME=PORT for each node")
	}
	byName := map[string]string{}
	for field := range strings.FieldsSeq(dsns) {
		name, dsn, _ := strings.Cut(field, "=")
		byName[name] = dsn
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	for _, arg := range args[1:] {
		name, number, _ := strings.Cut(arg, "=")
		port, err := strconv.Atoi(number)
		if err != nil || byName[name] == "" {
			return fmt.Errorf("node %q: no port, or no DSN in %s", name, NodesEnv)
		}
		db, err := open(byName[name])
		if err != nil {
			return fmt.Errorf("node %q: %w", name, err)
		}
		defer func() { _ = db.Close() }()
		l, err := net.Listen("tcp", process.Address(port))
		if err != nil {
			return err
		}
		server := &http.Server{Handler: Handler(db, replication.Kind(args[0])), ReadHeaderTimeout: time.Second}
		defer func() { _ = server.Close() }()
		go func() { stop(server.Serve(l)) }()
	}
	fmt.Fprintln(os.Stderr, "answers for", strings.Join(args[1:], ", "))
	<-ctx.Done()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

func open(dsn string) (*sql.DB, error) {
	c, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, errors.New("unreadable DSN") // its own error would quote it
	}
	c.Logger = &mysql.NopLogger{}
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	// Two listeners of a proxy ask at the same time.
	db.SetMaxOpenConns(2)
	db.SetMaxIdleConns(2)
	return db, nil
}
