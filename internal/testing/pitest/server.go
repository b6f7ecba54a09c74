package pitest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"sync"
	"testing"
	"time"

	"assay.dev/assay/internal/testing/databasetest"
)

// Resource is the DbiResourceId of the only instance of a new server.
const Resource = "db-ABCDEFGHIJKLMNOPQRSTU1VW2X"

// Region is the AWS region of that instance.
const Region = "eu-west-1"

// Session is an average number of sessions with the same activity in one second.
type Session struct {
	Event, Statement string
	Sessions         float64
}

// Server simulates the API. Its fields must be set before the first request.
type Server struct {
	// Resource is the DbiResourceId of the server's only instance.
	Resource string
	// Load returns the sessions of a second.
	Load func(second int64) []Session
	// Late is how long after its end a second is published.
	Late time.Duration
	// Lost reports whether a second is never published.
	Lost func(second int64) bool
	// PageSize is the maximum number of lists per page; 0: all on one page.
	PageSize int
	// Refuse is called for each call, numbered from 1. It returns an error code and an
	// HTTP status, or "" to continue.
	Refuse func(call int) (code string, status int)

	t    testing.TB
	http *httptest.Server

	mu       sync.Mutex
	calls    int
	requests []Request
	now      func() time.Time
}

// Request is a decoded request.
type Request struct {
	ServiceType, Identifier, NextToken, PeriodAlignment string
	StartTime, EndTime                                  float64
	PeriodInSeconds                                     int64
	MetricQueries                                       []struct {
		Metric  string
		GroupBy *struct {
			Group string
			Limit int
		}
	}
}

// Start is Serve, and sets the environment variables that make the SDK use the server.
func Start(t *testing.T) *Server {
	t.Helper()
	s := Serve(t)
	for name, value := range s.Environment() {
		t.Setenv(name, value)
	}
	return s
}

// Serve starts a server that is closed at the end of the test.
func Serve(t testing.TB) *Server {
	t.Helper()
	s := &Server{t: t, Resource: Resource, Load: func(int64) []Session { return nil }, Lost: func(int64) bool { return false }, now: time.Now}
	s.http = httptest.NewServer(s)
	t.Cleanup(s.http.Close)
	return s
}

// Environment returns the environment variables that make the SDK use the server, with
// example credentials.
func (s *Server) Environment() map[string]string {
	environment := databasetest.TestIdentity.Environment()
	environment["AWS_ENDPOINT_URL_PI"] = s.http.URL
	return environment
}

// URL returns the URL of the server.
func (s *Server) URL() string { return s.http.URL }

// Requests returns the requests that were answered without an error, in order.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// signature matches the Authorization header that a request must have: Signature Version 4
// for this service and region, over the headers that identify the operation.
var signature = regexp.MustCompile(`^AWS4-HMAC-SHA256 Credential=[A-Z0-9]+/[0-9]{8}/` + Region + `/pi/aws4_request, SignedHeaders=[a-z0-9;-]*host[a-z0-9;-]*x-amz-date[a-z0-9;-]*x-amz-target[a-z0-9;-]*, Signature=[0-9a-f]{64}$`)

// ServeHTTP responds as the API does.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.calls++
	call := s.calls
	s.mu.Unlock()
	switch {
	case r.Method != http.MethodPost || r.URL.Path != "/":
		refuse(w, "UnknownOperationException", http.StatusBadRequest, "POST / is wanted")
		return
	case !signature.MatchString(r.Header.Get("Authorization")):
		refuse(w, "MissingAuthenticationTokenException", http.StatusForbidden, "Missing Authentication Token")
		return
	case r.Header.Get("X-Amz-Target") != "PerformanceInsightsv20180227.GetResourceMetrics", r.Header.Get("Content-Type") != "application/x-amz-json-1.1":
		refuse(w, "UnknownOperationException", http.StatusBadRequest, "")
		return
	}
	if s.Refuse != nil {
		if code, status := s.Refuse(call); code != "" {
			refuse(w, code, status, "The security token\nincluded in the request\nis invalid")
			return
		}
	}
	var q Request
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		refuse(w, "SerializationException", http.StatusBadRequest, err.Error())
		return
	}
	if problem := q.invalid(); problem != "" {
		refuse(w, "InvalidArgumentException", http.StatusBadRequest, problem)
		return
	}
	if q.Identifier != s.Resource || q.ServiceType != "RDS" {
		refuse(w, "NotAuthorizedException", http.StatusBadRequest, "The user is not authorized to perform this request.")
		return
	}
	s.mu.Lock()
	s.requests = append(s.requests, q)
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	if err := json.NewEncoder(w).Encode(s.answer(q)); err != nil {
		s.t.Error(err)
	}
}

// invalid returns what is not allowed by the documentation; empty: nothing.
func (q Request) invalid() string {
	switch {
	case q.StartTime >= q.EndTime:
		return "StartTime must be earlier than EndTime"
	case q.PeriodInSeconds != 1:
		return fmt.Sprintf("PeriodInSeconds %d is not supported here", q.PeriodInSeconds)
	case len(q.MetricQueries) != 1 || q.MetricQueries[0].Metric != "db.load.avg":
		return "MetricQueries must name db.load.avg"
	}
	if g := q.MetricQueries[0].GroupBy; g != nil && (g.Limit < 1 || g.Limit > 25) {
		return "Limit must be between 1 and 25"
	}
	return ""
}

func refuse(w http.ResponseWriter, code string, status int, message string) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"__type": code, "message": message})
}
