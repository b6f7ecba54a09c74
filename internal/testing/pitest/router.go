package pitest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"

	"assay.dev/assay/internal/observe/collect/pi"
	"assay.dev/assay/internal/testing/databasetest"
)

// Router forwards each request to the server of its resource. Parallel tests need it, since
// they share the environment, from which the SDK takes its endpoint.
type Router struct {
	http    *httptest.Server
	servers sync.Map // *Server by resource
}

// StartRouter starts a router, and sets the environment variables that make the SDK use
// it. It is called before any test.
func StartRouter() (*Router, error) {
	r := &Router{}
	r.http = httptest.NewServer(r)
	r.http.Config.SetKeepAlivesEnabled(false) // idle connections would count as leaks
	errs := []error{os.Setenv("AWS_ENDPOINT_URL_PI", r.http.URL)}
	for name, value := range databasetest.TestIdentity.Environment() {
		errs = append(errs, os.Setenv(name, value))
	}
	return r, errors.Join(errs...)
}

// Close stops the router.
func (r *Router) Close() { r.http.Close() }

// Serve starts a server with one instance for this test.
func (r *Router) Serve(t testing.TB) (*Server, pi.Instance) {
	t.Helper()
	s := Serve(t)
	s.Resource = "db-" + t.Name()
	r.servers.Store(s.Resource, s)
	t.Cleanup(func() { r.servers.Delete(s.Resource) })
	return s, pi.Instance{Resource: s.Resource, Region: Region}
}

// ServeHTTP forwards a request.
func (r *Router) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	var q Request
	text, err := io.ReadAll(request.Body)
	if err == nil {
		err = json.Unmarshal(text, &q)
	}
	server, known := r.servers.Load(q.Identifier)
	if err != nil || !known {
		http.Error(w, fmt.Sprintf("no test has the resource %q: %v", q.Identifier, err), http.StatusNotFound)
		return
	}
	request.Body = io.NopCloser(bytes.NewReader(text))
	server.(*Server).ServeHTTP(w, request)
}
