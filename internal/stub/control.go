package stub

import (
	"crypto/subtle"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"assay.dev/assay/internal/observe/collect/stubs"
)

// maxBegin bounds the body of a request of a run.
const maxBegin = 4 << 10

// controls are the endpoints for runs.
func (s *Stub) controls() *http.ServeMux {
	mux := http.NewServeMux()
	mux.Handle("GET "+stubs.PathRun, s.authorized(s.show))
	mux.Handle("PUT "+stubs.PathRun, s.authorized(s.begin))
	mux.Handle("DELETE "+stubs.PathRun, s.authorized(s.end))
	mux.Handle("GET "+stubs.PathLedger, s.authorized(s.ledger))
	return mux
}

// authorized lets only those pass who show the token.
func (s *Stub) authorized(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shown, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		switch {
		case s.token == "":
			http.Error(w, "the stub has no token, and takes no run", http.StatusForbidden)
		case !bearer || subtle.ConstantTimeCompare([]byte(shown), []byte(s.token)) != 1:
			http.Error(w, "the token is not that of the stub", http.StatusUnauthorized)
		default:
			next(w, r)
		}
	})
}

func (s *Stub) show(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(s.State()) // an error means that the caller has left
}

func (s *Stub) begin(w http.ResponseWriter, r *http.Request) {
	var b stubs.Begin
	if err := json.NewDecoder(io.LimitReader(r.Body, maxBegin)).Decode(&b); err != nil || b.Run == "" {
		http.Error(w, "want the id of a run", http.StatusBadRequest)
		return
	}
	if busy := s.session.begin(b); busy != "" {
		http.Error(w, busy, http.StatusConflict)
		return
	}
	s.show(w, r)
}

func (s *Stub) end(w http.ResponseWriter, r *http.Request) {
	s.session.end(r.URL.Query().Get("run"))
	s.show(w, r)
}

func (s *Stub) ledger(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/jsonl")
	_ = s.book.write(w) // an error means that the caller has left
}
