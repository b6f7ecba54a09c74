package listen

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

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
