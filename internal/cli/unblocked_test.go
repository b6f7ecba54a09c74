package cli

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"assay.dev/assay/internal/mask"
)

// Nobody is held up by an output that nobody reads: what does not fit into the pipe is written
// when somebody reads on, in its order, and only what is beyond the backlog is lost.
func TestNobodyIsHeldUp(t *testing.T) {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	u := &Unblocked{To: writer}
	out := mask.Writer{To: u}
	if _, err := io.WriteString(out, "first\n"); err != nil || out.Fd() != writer.Fd() {
		t.Fatal(err, out.Fd())
	}
	line := append(bytes.Repeat([]byte("x"), 1023), '\n')
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 3 * backlog / len(line) {
			_, _ = out.Write(line)
		}
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("a writer is held up")
	}
	read := make(chan []byte)
	go func() {
		all, _ := io.ReadAll(reader)
		read <- all
	}()
	for u.pendingOrBusy() {
		time.Sleep(time.Millisecond)
	}
	if _, err := io.WriteString(out, "last\n"); err != nil {
		t.Error(err)
	}
	_ = writer.Close()
	all := <-read
	if !bytes.HasPrefix(all, append([]byte("first\n"), line...)) || !bytes.HasSuffix(all, []byte(" bytes of messages are left out here\nlast\n")) || len(all) < backlog || len(all) > 2*backlog {
		t.Errorf("%d bytes, from %.20q to %q", len(all), all, all[len(all)-20:])
	}
	if _, err := io.WriteString(out, "closed\n"); !errors.Is(err, os.ErrClosed) {
		t.Errorf("after it was closed: %v", err)
	}
}

func (u *Unblocked) pendingOrBusy() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.done != nil
}
