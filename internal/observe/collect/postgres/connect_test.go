package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/observe/collect/databases"
)

// server accepts every login as a PostgreSQL server of this version does, answers simple
// queries alone, or none if the version is mute, and returns its address, and what it was sent.
func server(t *testing.T, version string) (address string, statements func() []string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var all []string
	var serving sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); serving.Wait() })
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer conn.Close()
				answer(pgproto3.NewBackend(conn, conn), version, conn.RemoteAddr().(*net.TCPAddr).Port, func(statement string) {
					mu.Lock()
					defer mu.Unlock()
					all = append(all, statement)
				})
			})
		}
	})
	return l.Addr().String(), func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}
}

// mute is the version of a server that lets its clients wait.
const mute = ""

func answer(b *pgproto3.Backend, version string, port int, hear func(statement string)) {
	startup, err := b.ReceiveStartupMessage()
	if err != nil {
		return
	}
	begun, ok := startup.(*pgproto3.StartupMessage)
	if !ok {
		time.Sleep(300 * time.Millisecond) // as a busy server
		hear(fmt.Sprintf("%T", startup))
		return
	}
	for name, value := range begun.Parameters {
		hear(name + "=" + value)
	}
	const session = 7
	b.Send(&pgproto3.AuthenticationOk{})
	for name, value := range map[string]string{"server_version": version, "client_encoding": "UTF8", "standard_conforming_strings": "on"} {
		b.Send(&pgproto3.ParameterStatus{Name: name, Value: value})
	}
	b.Send(&pgproto3.BackendKeyData{ProcessID: session, SecretKey: []byte{1, 2, 3, 4}})
	for {
		b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
		if b.Flush() != nil {
			return
		}
		message, err := b.Receive()
		if err != nil {
			return
		}
		query, ok := message.(*pgproto3.Query)
		for !ok || version == mute { // until the connection ends
			if _, ended := message.(*pgproto3.Terminate); ended || err != nil {
				return
			}
			message, err = b.Receive()
		}
		hear(query.String)
		if !strings.Contains(query.String, "pg_backend_pid()") {
			b.Send(&pgproto3.CommandComplete{CommandTag: []byte("SET")})
			continue
		}
		var fields []pgproto3.FieldDescription
		for _, kind := range []uint32{23, 25, 23} { // int4, text, int4
			fields = append(fields, pgproto3.FieldDescription{Name: []byte("c"), DataTypeOID: kind, DataTypeSize: -1, TypeModifier: -1})
		}
		b.Send(&pgproto3.RowDescription{Fields: fields})
		b.Send(&pgproto3.DataRow{Values: [][]byte{[]byte(strconv.Itoa(session)), []byte(begun.Parameters["assay.connection"]), []byte(strconv.Itoa(port))}})
		b.Send(&pgproto3.CommandComplete{CommandTag: []byte("SELECT 1")})
	}
}

// Servers of version 17 and later have a limit on the time of a transaction, which may be the
// default of a role. It is lifted, unless the DSN says what it is.
func TestTransactionTimeoutIsLifted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		version, parameters string
		want                bool
	}{{"16.9", "", false}, {"17.0", "", true}, {"18beta1", "", true}, {"17.5", "&Transaction_timeout=5000", false}, {"17.5", "&options=-c%20transaction_timeout%3D5s", false}} {
		address, statements := server(t, c.version)
		db, err := databases.OpenSQL("postgres://u@" + address + "/shop?sslmode=disable" + c.parameters)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if err := db.Ping(t.Context()); err != nil {
			t.Errorf("%s: %v", c.version, err)
		}
		if lifted := strings.Contains(strings.Join(statements(), "\n"), "set_config('transaction_timeout', '0', false)"); lifted != c.want {
			t.Errorf("%s%s: it was sent %q", c.version, c.parameters, statements())
		}
	}
}

// Who takes the login, and does not say which server it is, may be a busy pooler.
func TestBusyPooler(t *testing.T) {
	t.Parallel()
	address, _ := server(t, mute)
	db, err := databases.OpenSQL("postgres://u@" + address + "/shop?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := db.Ping(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(hint.Of(err), "; if a connection pooler does, name the server itself, ") {
		t.Errorf("%v; %q", err, hint.Of(err))
	}
}

// Once a database is closed, a statement that was given up has been cancelled in the server.
func TestGivenUpStatementIsCancelled(t *testing.T) {
	t.Parallel()
	address, statements := server(t, "15.13")
	db, err := databases.OpenSQL("postgres://u@" + address + "/shop?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, giveUp := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer giveUp()
	if _, err := db.ExecContext(ctx, "DELETE FROM orders WHERE run_id = $1", "r"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	_ = db.Close()
	if all := statements(); !slices.Contains(all, "*pgproto3.CancelRequest") {
		t.Errorf("the server heard %q", all)
	}
}

// What the DSN's parameters name, in whatever way and case, is theirs to say, but for the time
// zone: it is set once connected, so that the server's own can still be read.
func TestParametersOfTheDSNComeLast(t *testing.T) {
	t.Parallel()
	for parameters, want := range map[string][]string{
		"application_name=x":         {"datestyle=ISO", "lock_timeout=0", "statement_timeout=0"},
		"DateStyle=SQL&TimeZone=CET": {"datestyle=SQL", "lock_timeout=0", "statement_timeout=0"},
		"options=-c%20statement_timeout%3D5000%20--lock-timeout%3D7%20-cDateStyle%3DSQL": nil,
	} {
		address, heard := server(t, "15.13")
		db, err := databases.OpenSQL("postgres://u@" + address + "/shop?sslmode=disable&" + parameters)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if err := db.Ping(t.Context()); err != nil {
			t.Errorf("%s: %v", parameters, err)
		}
		var got []string
		for _, text := range heard() {
			name, _, _ := strings.Cut(text, "=")
			if slices.Contains([]string{"application_name", "datestyle", "lock_timeout", "statement_timeout", "timezone"}, strings.ToLower(name)) {
				got = append(got, text)
			}
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", parameters, got, want)
		}
	}
}
