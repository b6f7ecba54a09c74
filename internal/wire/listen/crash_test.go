package listen_test

import (
	"net/http"
	"strings"
	"testing"

	"assay.dev/assay/internal/wire/listen"
)

// A handler that panics is a response and one line of the log, without stacks; the server
// goes on.
func TestPanicOfAHandler(t *testing.T) {
	t.Parallel()
	s := start(t, func(o *listen.Options) {
		o.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/panic" {
				panic("a mistake")
			}
		})
	})
	for path, want := range map[string]int{"/panic": http.StatusInternalServerError, "/": http.StatusOK} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+s.Address().String()+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: %s", path, resp.Status)
		}
	}
	if log := s.log.String(); !strings.Contains(log, "a mistake, at internal/wire/listen/crash_test.go:") || strings.Contains(log, "goroutine") {
		t.Errorf("the log is:\n%s", log)
	}
}
