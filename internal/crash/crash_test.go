package crash

import (
	"errors"
	"strings"
	"testing"

	"assay.dev/assay/internal/mask"
)

func TestCall(t *testing.T) {
	t.Parallel()
	var none []int
	err := Call(func() error { none[3]++; return nil })
	var failed *Error
	if !errors.As(err, &failed) || !strings.HasPrefix(failed.Where, "internal/crash/crash_test.go:") || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v", err)
	}
	if err := Call(func() error { panic(strings.Repeat("a\nb", 1000)) }); len(err.Error()) > 400 || strings.Contains(err.Error(), "\n") {
		t.Errorf("%d bytes: %v", len(err.Error()), err)
	}
	mask.Add("Zq7-a-long-secret")
	if err := Call(func() error { panic(strings.Repeat("a", maxWhat-7) + "Zq7-a-long-secret") }); strings.Contains(err.Error(), "Zq7") {
		t.Errorf("a part of a secret: %v", err)
	}
	// In a library, it is the line of ours that called it.
	if err := Call(func() error { _ = strings.Repeat("a", -len(none)-1); return nil }); !strings.Contains(err.Error(), "crash_test.go") {
		t.Errorf("%v", err)
	}
	own := errors.New("own")
	if err := Call(func() error { return own }); err != own { // as it was returned
		t.Errorf("%v", err)
	}
}

// The panics of goroutines reach the function that Watch names, and Wait returns.
func TestGoroutines(t *testing.T) {
	got := make(chan error, 3)
	Watch(func(err error) { got <- err })
	defer watcher.Store(nil)
	Go(func() { panic("one") })
	var all Group
	all.Go(func() { panic("two") })
	all.Wait()
	func() {
		defer func() { Take(recover()) }() // as a library does
		panic("three")
	}()
	seen := map[string]bool{}
	for range 3 {
		err := <-got
		seen[err.Error()[:strings.Index(err.Error(), ", at ")]] = true
	}
	for _, want := range []string{"one", "two", "three"} {
		if !seen["this program failed: "+want] {
			t.Errorf("no %q in %v", want, seen)
		}
	}
}
