//go:build live

package main

import (
	"bytes"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAnswerer(t *testing.T) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	client, server := fds[0], fds[1]
	defer unix.Close(client)
	a := answerer{started: map[int32][]byte{}, buffer: make([]byte, 1<<10)}
	send := func(text string) string {
		t.Helper()
		if _, err := unix.Write(client, []byte(text)); err != nil {
			t.Fatal(err)
		}
		a.answer(int32(server))
		buf := make([]byte, 1<<10)
		n, _ := unix.Read(client, buf) // nothing was answered: -1
		return string(buf[:max(n, 0)])
	}
	const empty = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
	for _, step := range []struct{ sent, want string }{
		{"GET / HTTP/1.1\r\nHost: a\r\n\r\n", empty},
		{"GET /x HTTP/1.1\r\nHo", ""},
		{"st: a\r\n\r", ""},
		{"\nGET / HTTP/1.1\r\n\r\nGET", empty + empty},
		{" / HTTP/1.1\r\n\r\n", empty},
		{"GET /served HTTP/1.1\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n4"},
	} {
		if got := send(step.sent); got != step.want {
			t.Errorf("%q is answered with %q, want %q", step.sent, got, step.want)
		}
	}
	if err := unix.Shutdown(client, unix.SHUT_WR); err != nil {
		t.Fatal(err)
	}
	a.answer(int32(server))
	if n, err := unix.Read(client, bytes.Repeat([]byte{0}, 1)); n != 0 || err != nil {
		t.Errorf("the connection is not closed: %d, %v", n, err)
	}
}
