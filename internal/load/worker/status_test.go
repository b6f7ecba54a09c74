package worker

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"assay.dev/assay/internal/servers/process"
	"assay.dev/assay/internal/testing/polltest"
)

// The k6-operator gets a status as of a k6 that has not started, whatever it says, and
// nothing else, until the context ends.
func TestServeStatus(t *testing.T) {
	t.Parallel()
	port, err := process.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- ServeStatus(ctx, address) }()
	polltest.Until(t, "it listens", func() bool {
		c, err := net.Dial("tcp", address)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	ask := func(method, path, body string) (status struct {
		code int
		Data struct {
			Type       string
			Attributes struct{ Paused, Stopped, Running, Tainted *bool }
		}
	},
	) {
		r, err := http.NewRequestWithContext(t.Context(), method, "http://"+address+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		status.code = answer.StatusCode
		if status.code == http.StatusOK {
			if err := json.NewDecoder(answer.Body).Decode(&status); err != nil {
				t.Error(err)
			}
		}
		return status
	}
	start := `{"data":{"attributes":{"paused":false,"stopped":false},"id":"default","type":"status"}}`
	for range 2 { // the second time after it was told to start
		for method, body := range map[string]string{"GET": "", "PATCH": start} {
			got := ask(method, "/v1/status", body)
			a := got.Data.Attributes
			if got.code != http.StatusOK || got.Data.Type != "status" || a.Paused == nil || a.Running == nil || *a.Running || a.Stopped == nil || *a.Stopped || a.Tainted == nil || *a.Tainted {
				t.Errorf("%s: %+v", method, got)
			}
		}
	}
	for _, request := range []string{"GET /", "GET /v1/metrics", "GET /v1/status/x", "POST /v1/status", "PUT /v1/status", "DELETE /v1/status", "GET /debug/pprof/"} {
		method, path, _ := strings.Cut(request, " ")
		if got := ask(method, path, ""); got.code != http.StatusNotFound && got.code != http.StatusMethodNotAllowed {
			t.Errorf("%s: %d", request, got.code)
		}
	}
	if err := ServeStatus(ctx, address); err == nil || !strings.Contains(err.Error(), "listen for the k6-operator: ") {
		t.Errorf("at a taken address: %v", err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	// Another process may listen at this port by now.
	if answer, err := http.Get("http://" + address + "/v1/status"); err == nil {
		_ = answer.Body.Close()
		if answer.StatusCode == http.StatusOK {
			t.Error("it answers after its end")
		}
	}
}
