package databases_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/observe/collect/databases"
	"assay.dev/assay/internal/observe/database"
)

// What answers at a DSN that is no server of its family is told in one line, with the next
// step. The drivers do so in words such as %!w(<nil>), or take memory for a message of a
// length that is another protocol's text.
func TestStrangerAtTheDSN(t *testing.T) {
	t.Parallel()
	const greeting = "\x4a\x00\x00\x00\x0a11.8.2-MariaDB\x00\x05\x00\x00\x00abcdefgh\x00\xfe\xff\x2d\x02\x00\xff\x81\x15\x00\x00\x00\x00\x00\x00"
	hears := func(text string) func(net.Conn) {
		return func(c net.Conn) {
			_, _ = c.Read(make([]byte, 512))
			_, _ = io.WriteString(c, text)
		}
	}
	says := func(text string) func(net.Conn) {
		return func(c net.Conn) {
			_, _ = io.WriteString(c, text)
			_, _ = c.Read(make([]byte, 512))
		}
	}
	// A packet that is continued without end, and parameters without end.
	continued := func(c net.Conn) {
		packet := make([]byte, 4+1<<24-1)
		copy(packet, "\xff\xff\xff")
		for i := range 256 {
			packet[3] = byte(i)
			if _, err := c.Write(packet); err != nil {
				return
			}
		}
	}
	parameters := func(c net.Conn) {
		_, _ = c.Read(make([]byte, 512))
		_, _ = io.WriteString(c, "R\x00\x00\x00\x08\x00\x00\x00\x00")
		for i := range 1 << 24 {
			if _, err := fmt.Fprintf(c, "S\x00\x00\x00\x0fp%08d\x00\x00", i); err != nil {
				return
			}
		}
	}
	silent := func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }
	const mysql, postgres = "u:secret@tcp(ADDRESS)/shop", "postgres://u:secret@ADDRESS/shop"
	for name, c := range map[string]struct {
		serve     func(net.Conn)
		dsn, want string
	}{
		"MySQL":                            {says(greeting), postgres, "a MySQL or MariaDB server answers there, not a PostgreSQL server"},
		"MySQL, of a length like N":        {says("N" + greeting[1:]), postgres, "a MySQL or MariaDB server answers"},
		"MySQL, of a length like R":        {says("R" + greeting[1:]), postgres, "a MySQL or MariaDB server answers"},
		"MySQL, of a length like S":        {says("S" + greeting[1:]), postgres, "a MySQL or MariaDB server answers"},
		"MySQL, of a length like E":        {says("E" + greeting[1:]), postgres, "a MySQL or MariaDB server answers"},
		"MySQL, without TLS":               {says("Z" + greeting[1:]), postgres + "?sslmode=disable", "a MySQL or MariaDB server answers"},
		"MySQL that has blocked this host": {says("\x45\x00\x00\x00\xff\x69\x04Host '127.0.0.1' is blocked because of many connection errors"), postgres, "a MySQL or MariaDB server answers"},
		"HTTP":                             {hears("HTTP/1.1 400 Bad Request\r\n\r\n400 Bad Request"), postgres, "an HTTP server answers there"},
		"HTTP, without TLS":                {hears("HTTP/1.1 400 Bad Request\r\n\r\n400 Bad Request"), postgres + "?sslmode=disable", "an HTTP server answers there"},
		"SSH":                              {says("SSH-2.0-OpenSSH_9.2\r\n"), postgres, "something else answers there, not a PostgreSQL server"},
		"Redis":                            {hears("-ERR unknown command\r\n"), postgres + "?sslmode=disable", "something else answers there"},
		"garbage":                          {hears("\x00\x01\x1b[31m\n%!w(<nil>)\xff\xfe\x7f\x7f\x7f"), postgres + "?sslmode=disable", "something else answers there"},
		"a message of 1 GB":                {hears("D\x3f\xff\xff\xff"), postgres + "?sslmode=disable", "something else answers there"},
		"an unexpected message":            {hears("R\x00\x00\x00\x08\x00\x00\x00\x00D\x00\x00\x00\x06\x00\x00"), postgres + "?sslmode=disable", "what answers there is not understood"},
		"an error without words":           {hears("E\x00\x00\x00\x08M\x00\x00\x00"), postgres + "?sslmode=disable", "what answers there is not understood"},
		"closes":                           {func(net.Conn) {}, postgres, "the connection is closed without an answer"},
		"silent":                           {silent, postgres, ""},
		"PostgreSQL or HTTP to MySQL":      {silent, mysql, ""},
		"SSH to MySQL":                     {says("SSH-2.0-OpenSSH_9.2\r\n"), mysql, "something else answers there, not a MySQL or MariaDB server"},
		"garbage to MySQL":                 {says("\x00\x01\x1b[31m\n%!w(<nil>)\xff\xfe\x7f\x7f\x7f"), mysql, "something else answers there"},
		"a packet without end to MySQL":    {continued, mysql, "the server sends more than what was asked for"},
		"parameters without end":           {parameters, postgres + "?sslmode=disable", "the server sends more than what was asked for"},
		"closes, to MySQL":                 {func(net.Conn) {}, mysql, "the connection is closed without an answer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, err := databases.Open(strings.Replace(c.dsn, "ADDRESS", stranger(t, c.serve), 1))
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			ctx := t.Context()
			if c.want == "" { // until the caller's patience ends
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeoutCause(ctx, 300*time.Millisecond, errors.New("no answer"))
				defer cancel()
				c.want = "no answer"
			}
			err = db.Ping(ctx)
			if err == nil {
				t.Fatal("it is a database")
			}
			told := databases.Reason(err) + "; " + hint.Of(err)
			if !strings.HasPrefix(told, c.want) || strings.Contains(told, "%!") || strings.ContainsAny(told, "\n\x1b") || strings.Contains(told, "secret") {
				t.Errorf("told %q", told)
			}
			if !strings.Contains(hint.Of(err), "check host and port in the DSN, and its form") {
				t.Errorf("no next step: %q", told)
			}
		})
	}
}

// stranger listens on loopback, serves each connection, and closes it.
func stranger(t *testing.T, serve func(net.Conn)) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				serve(c)
			}()
		}
	}()
	return l.Addr().String()
}

// RDS Proxy is known by the name of its host, before anything is sent to it.
func TestProxyByItsName(t *testing.T) {
	for _, host := range []string{"shop.proxy-abcdefghijkl.eu-west-1.rds.amazonaws.com", "readers.endpoint.proxy-abc123.us-gov-west-1.rds.amazonaws.com", "Shop.Proxy-abc.cn-north-1.rds.amazonaws.com.cn"} {
		for _, dsn := range []string{"u:secret@tcp(" + host + ":3306)/shop", "postgres://u:secret@" + host + "/shop"} {
			db, err := databases.Open(dsn)
			if err != nil {
				t.Fatal(err)
			}
			if err := db.Ping(t.Context()); !errors.Is(err, database.ErrPooler) || !strings.Contains(err.Error(), "RDS Proxy") {
				t.Errorf("%s: %v", host, err)
			}
			_ = db.Close()
		}
	}
	for _, host := range []string{"shop.cluster-abcdefghijkl.eu-west-1.rds.amazonaws.com", "proxy-1.example.com"} {
		if err := database.CheckAddress(net.JoinHostPort(host, "3306")); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
}
