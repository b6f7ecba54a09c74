package listen

import (
	"bytes"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"assay.dev/assay/internal/crash"
	"assay.dev/assay/internal/wire"
)

// handle lets requests with the token through, their bodies complete.
func (s *Server) handle(w http.ResponseWriter, r *http.Request) {
	c := connOf(r)
	if c.tls.Load() == nil && !s.mayBePlain(c.from) {
		s.refuse(w, r, PlainHTTP, http.StatusBadRequest, "use https: plain HTTP is for clients on this host")
		return
	}
	if !s.options.Authorize(wire.Bearer(r)) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		s.refuse(w, r, NoToken, http.StatusUnauthorized, "the run's token is missing or wrong")
		return
	}
	c.settle()
	body, err := s.body(w, r)
	if err != nil {
		s.refuse(w, r, err.why, err.status, err.text)
		return
	}
	clean := *r
	clean.Header = r.Header.Clone()
	clean.Header.Del("Content-Encoding")
	clean.Body, clean.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	failed := crash.Call(func() error {
		s.options.Handler.ServeHTTP(w, &clean)
		return nil
	})
	if failed != nil {
		s.options.Log.Error("a request was not answered", "path", r.URL.Path, "error", failed)
		http.Error(w, failed.Error(), http.StatusInternalServerError)
	}
}

func (s *Server) mayBePlain(from netip.Addr) bool {
	return slices.ContainsFunc(s.options.Plain, func(p netip.Prefix) bool { return p.Contains(from) })
}

// refuse answers with one line and closes the connection. What the client still sends
// is not read.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, why Refusal, status int, text string) {
	s.refusals.add(why, connOf(r).from)
	// net/http reads up to 256 KiB that the handler has not, but for the deadline.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now())
	if r.ContentLength != 0 {
		// Let net/http wait half a second before it closes the socket: a reset because
		// of unread data can overtake the answer. Only MaxBytesReader asks it to.
		one := io.NopCloser(strings.NewReader("x"))
		_, _ = http.MaxBytesReader(w, one, 0).Read(make([]byte, 1))
	}
	w.Header().Set("Connection", "close")
	http.Error(w, text, status)
}
