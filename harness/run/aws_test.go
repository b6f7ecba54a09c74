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

// aws is a proxy in front of the fake Performance Insights servers of all tests, because
// parallel tests share the environment from which the SDK reads its address. It routes
// each request by resource to the server of one test.
var aws struct {
	sync.Mutex
	servers map[string]*pitest.Server // by resource
	count   atomic.Int64
}

// startAWSProxy directs the SDK to the proxy, with test credentials. It is called once,
// before any test.
func startAWSProxy() {
	aws.servers = map[string]*pitest.Server{}
	for name, value := range databasetest.TestIdentity.Environment() {
		_ = os.Setenv(name, value) // the names are well formed
	}
	server := httptest.NewServer(http.HandlerFunc(proxyAWS)) // ends with the process
	server.Config.SetKeepAlivesEnabled(false)                // idle connections would count as leaks
	_ = os.Setenv("AWS_ENDPOINT_URL_PI", server.URL)
}

// startPerformanceInsights starts a fake API for the test, and returns its address as a
// run needs it.
func startPerformanceInsights(t *testing.T) (*pitest.Server, *database.Insights) {
	t.Helper()
	s := pitest.Serve(t)
	resource := fmt.Sprintf("%s%02d", pitest.Resource[:len(pitest.Resource)-2], aws.count.Add(1))
	aws.Lock()
	defer aws.Unlock()
	aws.servers[resource] = s
	return s, &database.Insights{Resource: resource, Region: pitest.Region}
}

func proxyAWS(w http.ResponseWriter, r *http.Request) {
	var query struct{ Identifier string }
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &query)
	}
	aws.Lock()
	server := aws.servers[query.Identifier]
	aws.Unlock()
	if err != nil || server == nil {
		http.Error(w, fmt.Sprintf("no test has the resource %q: %v", query.Identifier, err), http.StatusNotFound)
		return
	}
	body = bytes.ReplaceAll(body, []byte(query.Identifier), []byte(pitest.Resource))
	request, err := http.NewRequestWithContext(r.Context(), r.Method, server.URL()+r.URL.Path, bytes.NewReader(body))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	request.Header = r.Header
	response, err := server.Client().Do(request)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer response.Body.Close()
	for name, values := range response.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(response.StatusCode)
	_, _ = io.Copy(w, response.Body)
}
