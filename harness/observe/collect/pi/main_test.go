package pi_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"

	"assay/harness/observe/collect/pi/pitest"
	"assay/harness/observe/database"
	"assay/harness/observe/database/databasetest"
)

// servers holds the servers of the running tests by resource. Parallel tests share the
// environment, from which the SDK takes its endpoint.
var servers sync.Map

// TestMain allows many parallel tests, because they spend most of their time waiting.
func TestMain(m *testing.M) {
	router := httptest.NewServer(http.HandlerFunc(route))
	defer router.Close()
	environment := databasetest.TestIdentity.Environment()
	environment["AWS_ENDPOINT_URL_PI"] = router.URL
	for name, value := range environment {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	if err := flag.Set("test.parallel", "20"); err != nil {
		panic(err)
	}
	m.Run() // os.Exit is called by the test binary
}

// route forwards a request to the server of its resource.
func route(w http.ResponseWriter, r *http.Request) {
	var q pitest.Request
	text, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(text, &q)
	}
	server, known := servers.Load(q.Identifier)
	if err != nil || !known {
		http.Error(w, fmt.Sprintf("no server of resource %q: %v", q.Identifier, err), http.StatusNotFound)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(text))
	server.(*pitest.Server).ServeHTTP(w, r)
}

// serve starts a server with one instance for this test.
func serve(t *testing.T) (*pitest.Server, database.Insights) {
	t.Helper()
	s := pitest.Serve(t)
	s.Resource = "db-" + t.Name()
	servers.Store(s.Resource, s)
	t.Cleanup(func() { servers.Delete(s.Resource) })
	return s, database.Insights{Resource: s.Resource, Region: pitest.Region}
}
