package listen_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/wire/listen"
)

// The log has a line for each kind a second, and the total adds up.
func TestLog(t *testing.T) {
	s := start(t, nil)
	began := time.Now()
	for range 200 {
		if got := s.client(t, "127.0.0.1").post(t.Context(), "http", "wrong-"+token, "/", nil); got.status != http.StatusUnauthorized {
			t.Errorf("%+v", got)
		}
	}
	lines := strings.Count(s.log.String(), "\n")
	if most := 1 + int(time.Since(began)/time.Second); lines < 1 || lines > most {
		t.Errorf("%d lines, want up to %d:\n%s", lines, most, s.log)
	}
	if got := s.Refused(); got[listen.NoToken] != 200 || len(got) != 1 {
		t.Errorf("counted %v", got)
	}
}
