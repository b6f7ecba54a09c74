//go:build live

package postgres_test

import (
	"errors"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/observe/collect/databases"
	"assay.dev/assay/internal/observe/collect/postgres"
	"assay.dev/assay/internal/observe/database"
	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/databasetest"
	"assay.dev/assay/internal/testing/postgrestest"
)

// Whatever opens a connection refuses a pooler, in each mode and configuration, and leaves no
// name on the connections that it keeps; a proxy that forwards bytes is not one.
func TestPoolerIsRefused(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.4)
	s := postgrestest.StartInMemory(t)
	root := postgrestest.Open(t, s.DSN())
	console := postgrestest.StartBouncer(t, s, nil, postgrestest.IgnoreSettings, "admin_users = administrator").DSN(s.DatabaseDSN("pgbouncer"))
	for name, c := range map[string]struct{ dsn, want string }{
		"transaction mode": {postgrestest.StartBouncer(t, s, nil).DSN(s.DSN()), `a connection pooler (PgBouncer) answers there, not the server: it says "unsupported startup parameter: `},
		"unknown parameters postgrestest.IgnoreSettings": {postgrestest.StartBouncer(t, s, nil, postgrestest.IgnoreSettings).DSN(s.DSN()), "a connection pooler (such as PgBouncer, Odyssey or RDS Proxy) answers there"},
		"session mode":             {postgrestest.StartBouncer(t, s, nil, postgrestest.IgnoreSettings, "pool_mode = session").DSN(s.DSN()), "a connection pooler (such as PgBouncer, Odyssey or RDS Proxy) answers there"},
		"statement mode":           {postgrestest.StartBouncer(t, s, nil, postgrestest.IgnoreSettings, "pool_mode = statement").DSN(s.DSN()), "a connection pooler (such as PgBouncer, Odyssey or RDS Proxy) answers there"},
		"admin console":            {console, "a connection pooler (PgBouncer) answers there, not the server: its admin console answers"},
		"Pgpool-II":                {postgrestest.StartPgpool(t, s).DSN(s.DSN()), "a connection pooler (Pgpool-II) answers there"},
		"the session's own number": {relayed(t, s), "a connection pooler (such as PgBouncer, Odyssey or RDS Proxy) answers there, not the server: the session that answers did not begin with this connection's parameters"},
		"a proxy":                  {forwarded(t, s), ""},
	} {
		db, err := databases.OpenSQL(c.dsn)
		if err != nil {
			t.Fatal(err)
		}
		_, examined := postgres.Driver{}.Examine(t.Context(), c.dsn)
		run := collector(t, c.dsn)
		for _, err := range []error{db.Ping(t.Context()), examined, run.Start(t.Context())} {
			switch {
			case c.want == "" && err != nil:
				t.Errorf("%s: %v", name, err)
			case c.want == "":
			case !errors.Is(err, database.ErrPooler) || !strings.HasPrefix(databases.Reason(err), c.want) || !strings.HasPrefix(hint.Of(err), "name the server itself"):
				t.Errorf("%s: %v; %s", name, err, hint.Of(err))
			}
		}
		_ = errors.Join(db.Close(), run.Close()) // they have no further use
		postgrestest.Await(t, root, 0, "application_name LIKE 'assay%'")
	}
}

// forwarded is the DSN of a server behind a proxy that forwards bytes.
func forwarded(t *testing.T, s *postgrestest.Server) string {
	t.Helper()
	address, _ := databasetest.AbandoningProxy(t, s.Address())
	return strings.Replace(s.DSN(), s.Address(), address, 1)
}

// relayed is the DSN of a server behind a synthetic pooler that shares one session among all
// its clients, and tells them the number of that session.
func relayed(t *testing.T, s *postgrestest.Server) string {
	t.Helper()
	conn, err := pgconn.Connect(t.Context(), s.DSN())
	if err != nil {
		t.Fatal(err)
	}
	shared, err := conn.Hijack()
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(listener.Close(), shared.Conn.Close()) }) // they have no further use
	var mu sync.Mutex                                                            // held for a statement
	serve := func(c net.Conn) (err error) {
		defer c.Close()
		client := pgproto3.NewBackend(c, c)
		first, err := client.ReceiveStartupMessage()
		if _, ok := first.(*pgproto3.SSLRequest); ok && err == nil {
			if _, err = c.Write([]byte("N")); err == nil {
				_, err = client.ReceiveStartupMessage()
			}
		}
		if err != nil {
			return err
		}
		client.Send(&pgproto3.AuthenticationOk{})
		for name, value := range shared.ParameterStatuses {
			client.Send(&pgproto3.ParameterStatus{Name: name, Value: value})
		}
		client.Send(&pgproto3.BackendKeyData{ProcessID: shared.PID, SecretKey: shared.SecretKey})
		client.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
		for err = client.Flush(); err == nil; err = client.Flush() {
			query, err := client.Receive()
			if _, ok := query.(*pgproto3.Query); !ok || err != nil {
				return err
			}
			mu.Lock()
			shared.Frontend.Send(query)
			err = shared.Frontend.Flush()
			for ready := false; !ready && err == nil; {
				var answer pgproto3.BackendMessage
				if answer, err = shared.Frontend.Receive(); err == nil {
					client.Send(answer)
					_, ready = answer.(*pgproto3.ReadyForQuery)
				}
			}
			mu.Unlock()
			if err != nil {
				return err
			}
		}
		return err
	}
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go func() { _ = serve(c) }() // a client that ends is no error
		}
	}()
	return strings.Replace(s.DSN(), s.Address(), listener.Addr().String(), 1)
}
