package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestAwait(t *testing.T) {
	silent := errors.New("connection refused")
	asked := 0
	third := func(context.Context) error {
		if asked++; asked < 3 {
			return silent
		}
		return nil
	}
	if err := Await(t.Context(), time.Minute, nil, third); err != nil || asked != 3 {
		t.Errorf("asked %d times: %v", asked, err)
	}
	never := func(context.Context) error { return silent }
	if err := Await(t.Context(), 120*time.Millisecond, nil, never); !errors.Is(err, silent) || !strings.HasPrefix(err.Error(), "no answer within 120ms: ") {
		t.Errorf("never ready: %v", err)
	}
	reason := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(reason)
	if err := Await(ctx, time.Minute, nil, never); err != reason {
		t.Errorf("cancelled: %v", err)
	}
	child, err := Start(exec.Command("true"), Tied)
	if err != nil {
		t.Fatal(err)
	}
	if err := Await(t.Context(), time.Minute, child.Done(), never); err != ErrEnded {
		t.Errorf("ended: %v", err)
	}
	// Another process answers in its place.
	if err := Await(t.Context(), time.Minute, child.Done(), func(context.Context) error { return nil }); err != ErrEnded {
		t.Errorf("ended, and something answers: %v", err)
	}
}

// The error says how the child ended, unless it exited with 0.
func TestAwaitChild(t *testing.T) {
	for program, want := range map[string]string{"true": "the process exited", "false": "the process exited: exit status 1"} {
		child, err := Start(exec.Command(program), Tied)
		if err != nil {
			t.Fatal(err)
		}
		err = child.Await(t.Context(), time.Minute, func(context.Context) error { return errors.New("connection refused") })
		if !errors.Is(err, ErrEnded) || err.Error() != want {
			t.Errorf("%s: %v, want %s", program, err, want)
		}
	}
}

func TestLogHoldsWhatWasWrittenSince(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte("of before\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := OpenLog(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	if text := log.Written(); text != "" {
		t.Errorf("nothing was written: %q", text)
	}
	cmd := exec.Command("sh", "-c", "echo said")
	cmd.Stdout = log.File
	child, err := Start(cmd, Tied)
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Err(); err != nil {
		t.Fatal(err)
	}
	if text := log.Written(); text != "said\n" {
		t.Errorf("written: %q", text)
	}
	if _, err := log.WriteString(strings.Repeat("x", maxWritten) + "end"); err != nil {
		t.Fatal(err)
	}
	if text := log.Written(); len(text) != maxWritten || !strings.HasSuffix(text, "end") {
		t.Errorf("of a long log: %d bytes", len(text))
	}
}

// Another port is tried only if the first is taken.
func TestOnFreePort(t *testing.T) {
	var tried []int
	err := OnFreePort(func(port int) error {
		if tried = append(tried, port); len(tried) < 3 {
			return fmt.Errorf("start: %w", PortTaken(port))
		}
		return nil
	})
	if err != nil || len(tried) != 3 {
		t.Errorf("tried %v: %v", tried, err)
	}
	tried = nil
	if err := OnFreePort(func(port int) error { tried = append(tried, port); return PortTaken(port) }); !errors.Is(err, ErrPortTaken) || len(tried) != portTries {
		t.Errorf("always taken: tried %v: %v", tried, err)
	}
	other := errors.New("no memory")
	tried = nil
	if err := OnFreePort(func(port int) error { tried = append(tried, port); return other }); err != other || len(tried) != 1 {
		t.Errorf("another error: tried %v: %v", tried, err)
	}
}

// A lower priority is always allowed; this process keeps its own.
func TestPriority(t *testing.T) {
	const lowest = 1 // 20 minus the highest nice value, 19
	own, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		t.Fatal(err)
	}
	child, err := StartAtPriority(exec.Command("sleep", "60"), Tied, 20-own+1)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = child.Kill() }()
	of, err := unix.Getpriority(unix.PRIO_PROCESS, child.PID)
	if want := max(own-1, lowest); err != nil || of != want {
		t.Errorf("priority of the child %d, want %d: %v", of, want, err)
	}
	if now, err := unix.Getpriority(unix.PRIO_PROCESS, 0); err != nil || now != own {
		t.Errorf("priority of this process %d, before %d: %v", now, own, err)
	}
}

func TestAttach(t *testing.T) {
	child, err := Start(exec.Command("sleep", "60"), Tied)
	if err != nil {
		t.Fatal(err)
	}
	if err := Attach(child.Identity).Stop(time.Minute); err != nil {
		t.Error(err)
	}
	if child.Alive() {
		t.Error("alive after Stop")
	}
	if err := Attach(child.Identity).Kill(); err != nil {
		t.Errorf("kill of one that has ended: %v", err)
	}
}
