package wire_test

import (
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"unicode"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/wire"
)

// answered is the error of joining at what answers with this text, and then sends more.
func answered(t *testing.T, text string, more io.Reader) error {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer func() { _ = c.Close() }()
		_, _ = c.Read(make([]byte, 4<<10))
		_, _ = io.WriteString(c, text)
		_, _ = io.Copy(c, more)
	}()
	link := wire.New("http://"+l.Addr().String(), "token", nil)
	defer link.Close()
	_, _, err = link.Join(t.Context(), wire.Hello{})
	return err
}

// endless is the body of an answer without end. It counts what was taken of it.
type endless struct{ taken atomic.Int64 }

func (e *endless) Read(b []byte) (int, error) {
	e.taken.Add(int64(len(b)))
	return len(b), nil
}

// What answers at the URL may be anything.
func TestStrangers(t *testing.T) {
	const evil = "\x1b]0;pwned\a\x1b[2J\x1b[H[ P A S S ] all good"
	for text, want := range map[string]struct{ why, hint string }{
		"HTTP/1.1 503 " + evil + strings.Repeat("x", 50_000) + "\r\n\r\n":         {why: "coordinator answered 503 ]0;pwned"},
		"HTTP/1.1 403 " + evil + "\r\n\r\n":                                       {why: "coordinator refused (403): 403 ]0;pwned"},
		"HTTP/1.1 403 Forbidden\r\n\r\n" + evil:                                   {why: "coordinator refused (403): ]0;pwned"},
		"HTTP/1.1 301 Moved\r\nLocation: http://127.0.0.1:1/\r\n\r\n":             {"no coordinator answers there: 301 Moved", "check the URL: copy the line that the coordinator prints"},
		"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\n\r\n<html>x</html>": {"no coordinator answers there: 404 Not Found", "check the URL: copy the line that the coordinator prints"},
		"HTTP/1.1 200 OK\r\n" + evil + strings.Repeat("x", 50_000) + "\r\n\r\n":   {why: "malformed MIME header"},
		evil + "\r\n\r\n": {why: "malformed HTTP"},
	} {
		err := answered(t, text, strings.NewReader(""))
		if err == nil || !strings.Contains(err.Error(), want.why) || hint.Of(err) != want.hint || len(err.Error()) > 600 ||
			strings.ContainsFunc(err.Error(), unicode.IsControl) {
			t.Errorf("%.60q: %q, hint %q", text, err, hint.Of(err))
		}
	}
	body := &endless{}
	var refused *wire.RefusedError
	if err := answered(t, "HTTP/1.1 403 Forbidden\r\n\r\n", body); err == nil || errors.As(err, &refused) || body.taken.Load() > 16<<20 {
		t.Errorf("%d bytes were taken: %v", body.taken.Load(), err)
	}
}
