package attacktest

import (
	"context"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// Headers arrive a byte a second.
func TestSlowHeaders(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		received := make(chan string, 1)
		a := Attack{Address: "server:1", Dial: func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			go func() {
				text, _ := io.ReadAll(far)
				_ = far.Close()
				received <- string(text)
			}()
			return near, nil
		}}
		ends, err := a.SlowHeaders(t.Context(), 1, 2500*time.Millisecond)
		if err != nil || ends.Open != 1 || ends.Total() != 1 {
			t.Errorf("%+v, %v", ends, err)
		}
		if text := <-received; text != "GET" {
			t.Errorf("received %q in 2.5 s", text)
		}
	})
}

// What is not begun in time is not sent.
func TestUnsent(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a := Attack{Address: "server:1", Dial: func(context.Context, string, string) (net.Conn, error) {
		t.Error("a connection is opened")
		return nil, net.ErrClosed
	}}
	ends, err := a.WrongTokens(ctx, "/", 10, time.Second)
	if err != nil || ends.Unsent != 10 || ends.Total() != 10 {
		t.Errorf("%+v, %v", ends, err)
	}
}
