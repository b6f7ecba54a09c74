package listen

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

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

// defaultBody bounds the bodies of other paths than those of Options.Bodies.
const defaultBody = 64 << 10

// bodyError is why a body was refused, and the answer.
type bodyError struct {
	why    Refusal
	status int
	text   string
}

func bad(status int, format string, args ...any) *bodyError {
	return &bodyError{BadBody, status, fmt.Sprintf(format, args...)}
}

// body reads a whole body before the handler runs, so that a slow client holds no
// handler, and decompresses it.
func (s *Server) body(w http.ResponseWriter, r *http.Request) ([]byte, *bodyError) {
	limit := cmp.Or(s.options.Bodies[r.URL.Path], defaultBody)
	tooLarge := &bodyError{TooLarge, http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is larger than %d bytes", limit)}
	if r.ContentLength > limit {
		return nil, tooLarge
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(s.options.Limits.Body)) // fails with the connection, as the read does
	sent, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
	switch {
	case int64(len(sent)) > limit:
		return nil, tooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, bad(http.StatusRequestTimeout, "the body did not arrive within %s", s.options.Limits.Body)
	case err != nil:
		return nil, bad(http.StatusBadRequest, "the body cannot be read: %v", err)
	}
	_ = control.SetReadDeadline(time.Time{}) // would end the wait of a handler
	var body []byte
	switch encoding := r.Header.Get("Content-Encoding"); encoding {
	case "", "identity":
		return sent, nil
	case "gzip":
		body, err = gunzip(sent, limit)
	case "zstd":
		body, err = unzstd(sent, limit)
	default:
		return nil, bad(http.StatusUnsupportedMediaType, "send the body as gzip, zstd or without Content-Encoding, not as %q", encoding)
	}
	switch {
	case errors.Is(err, errTooLarge):
		return nil, tooLarge
	case err != nil:
		return nil, bad(http.StatusBadRequest, "the body cannot be decompressed: %v", err)
	}
	return body, nil
}

var errTooLarge = errors.New("larger than the limit")

func gunzip(sent []byte, limit int64) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(sent))
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(z, limit+1))
	if int64(len(body)) > limit {
		return nil, errTooLarge
	}
	return body, err
}

// zstdWindow is the window that any decoder should accept, of however small a body (RFC
// 8878, section 3.1.1.1.2).
const zstdWindow = 8 << 20

func unzstd(sent []byte, limit int64) ([]byte, error) {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(max(limit, zstdWindow))))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	body, err := z.DecodeAll(sent, nil)
	if int64(len(body)) > limit || errors.Is(err, zstd.ErrDecoderSizeExceeded) {
		return nil, errTooLarge
	}
	return body, err
}
