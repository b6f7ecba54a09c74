package polltest

import (
	"testing"
	"time"
)

const (
	// limit is only reached by a test that fails.
	limit    = time.Minute
	interval = 20 * time.Millisecond
)

// Until waits until the condition holds, and fails the test if it does not within a
// minute.
func Until(t testing.TB, condition string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(limit); !holds(); time.Sleep(interval) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", limit, condition)
		}
	}
}
