package run_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"assay/harness/observe/collect/pi/pitest"
	"assay/harness/observe/database"
	"assay/harness/observe/database/databasetest"
)

// aws stands in for Performance Insights of all tests: the SDK reads its address from
// the environment, which parallel tests share. It passes each request on to the
// server of the test whose resource is asked for.
var aws struct {
	sync.Mutex
	servers map[string]*pitest.Server // by resource
	count   atomic.Int64
}

// useAWS leads the SDK to the stand-in, with credentials of the tests' own. It is
// called once, before any test.
func useAWS() {
	aws.servers = map[string]*pitest.Server{}
	for name, value := range databasetest.TestIdentity.Environment() {
		_ = os.Setenv(name, value) // the names are well formed
	}
	server := httptest.NewServer(http.HandlerFunc(passOn)) // ends with the process
	_ = os.Setenv("AWS_ENDPOINT_URL_PI", server.URL)
}

// startInsights starts a server for the test, and tells by what it is asked.
func startInsights(t *testing.T) (*pitest.Server, *database.Insights) {
	t.Helper()
	s := pitest.Serve(t)
	resource := fmt.Sprintf("%s%02d", pitest.Resource[:len(pitest.Resource)-2], aws.count.Add(1))
	aws.Lock()
	defer aws.Unlock()
	aws.servers[resource] = s
	return s, &database.Insights{Resource: resource, Region: pitest.Region}
}

func passOn(w http.ResponseWriter, r *http.Request) {
	var asked struct{ Identifier string }
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &asked)
	}
	aws.Lock()
	server := aws.servers[asked.Identifier]
	aws.Unlock()
	if err != nil || server == nil {
		http.Error(w, fmt.Sprintf("no test has the resource %q: %v", asked.Identifier, err), http.StatusNotFound)
		return
	}
	body = bytes.ReplaceAll(body, []byte(asked.Identifier), []byte(pitest.Resource))
	request, err := http.NewRequestWithContext(r.Context(), r.Method, server.URL()+r.URL.Path, bytes.NewReader(body))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	request.Header = r.Header
	answer, err := server.Client().Do(request)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer answer.Body.Close()
	for name, values := range answer.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.StatusCode)
	_, _ = io.Copy(w, answer.Body)
}
