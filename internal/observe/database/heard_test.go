package database

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
)

func heardOf(text string) *Heard {
	h := &Heard{}
	h.add([]byte(text), true)
	return h
}

// What a server sends first tells its protocol, also where the bytes of one begin like those
// of another.
func TestProtocol(t *testing.T) {
	const version = "\x0a8.4.5\x00\x01\x02\x03\x04abcdefgh"
	for text, want := range map[string]*Protocol{
		"":                           otherProtocol,
		"\x49\x00\x00\x00" + version: MySQLProtocol,
		"R\x00\x00\x00" + version:    MySQLProtocol, // as an authentication message of 10 bytes
		"S\x00\x00\x00" + version:    MySQLProtocol,
		"N\x00\x00\x00" + version:    MySQLProtocol,
		"\x17\x00\x00\x00\xff\x10\x04Too many connections": MySQLProtocol,
		"N":                             PostgreSQLProtocol,
		"S":                             PostgreSQLProtocol,
		"S\x16\x03\x03\x00\x7a\x02\x00": PostgreSQLProtocol,
		"R\x00\x00\x00\x17\x00\x00\x00\x0aSCRAM-SHA-256\x00\x00": PostgreSQLProtocol,
		"E\x00\x00\x00\x64SFATAL\x00VFATAL\x00C28000\x00":        PostgreSQLProtocol,
		"v\x00\x00\x00\x0c\x00\x03\x00\x00\x00\x00\x00\x00":      PostgreSQLProtocol,
		"\x16\x03\x03\x00\x7a\x02\x00":                           PostgreSQLProtocol, // sslnegotiation=direct
		"HTTP/1.1 400 Bad Request\r\n":                           httpProtocol,
		"SSH-2.0-OpenSSH_9.2\r\n":                                otherProtocol,
		"-ERR unknown command\r\n":                               otherProtocol,
		"R":                                                      otherProtocol,
	} {
		if got := protocol([]byte(text)); got != want {
			t.Errorf("%q: %s, want %s", text, got.Speaker, want.Speaker)
		}
	}
	name, connection, ok := heardOf("\x49\x00\x00\x00" + version).Greeting()
	if !ok || name != "8.4.5" || connection != 0x04030201 {
		t.Errorf("greeting: %q, %d, %t", name, connection, ok)
	}
}

// Whatever is heard, the explanation is one line.
func FuzzHeard(f *testing.F) {
	for _, seed := range []string{"", "N", "\x49\x00\x00\x00\x0a8.4.5\x00\x01\x02\x03\x04", "HTTP/1.1 400", "R\x00\x00\x00\x08\x00\x00\x00\x00", "\x00\x00\x00\x00\xff\x00\x04"} {
		f.Add([]byte(seed))
	}
	dialects := []*Dialect{{Protocol: MySQLProtocol}, {Protocol: PostgreSQLProtocol}}
	for _, d := range dialects {
		d.ServerError = func(error) (ServerError, bool) { return ServerError{}, false }
	}
	f.Fuzz(func(t *testing.T, first []byte) {
		h := heardOf(string(first))
		h.Greeting()
		for _, d := range dialects {
			if err := d.Explain(errors.New("unreadable: %!w(<nil>)"), h); err == nil || strings.ContainsAny(err.Error(), "\n%") {
				t.Errorf("%q: %v", first, err)
			}
		}
	})
}

// endless is a connection of a server that sends without end.
type endless struct{ net.Conn }

func (endless) Read(b []byte) (int, error)  { return len(b), nil }
func (endless) Write(b []byte) (int, error) { return len(b), nil }

// What a connection receives is limited: in all until it is accepted, then for each request,
// and between rows.
func TestIntakeIsLimited(t *testing.T) {
	h := &Heard{Intake: &Intake{}}
	c, err := h.Dial(func(context.Context, string, string) (net.Conn, error) { return endless{}, nil })(t.Context(), "tcp", "")
	if err != nil {
		t.Fatal(err)
	}
	megabyte := make([]byte, 1<<20)
	read := func(n int) error {
		for range n {
			if _, err := c.Read(megabyte); err != nil {
				return err
			}
		}
		return nil
	}
	write := func() {
		if _, err := c.Write([]byte("request")); err != nil {
			t.Fatal(err)
		}
	}
	if err := read(maxGreeting >> 20); err != nil {
		t.Errorf("a greeting: %v", err)
	}
	write()
	if err := read(1); !errors.Is(err, errTooMuch) {
		t.Errorf("a greeting that is too long: %v", err)
	}
	h.Accept()
	for range 3 {
		write()
		if err := read(maxAnswer >> 20); err != nil {
			t.Errorf("an answer: %v", err)
		}
		h.Intake.Received()
		if err := read(maxAnswer >> 20); err != nil {
			t.Errorf("its next row: %v", err)
		}
	}
	if err := read(1); !errors.Is(err, errTooMuch) {
		t.Errorf("an answer that is too long: %v", err)
	}
}
