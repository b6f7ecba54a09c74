package influx

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"

	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/mask"
)

// response is a server's response.
type response struct {
	status  int
	version string
	message string // its error message, on one line and without secrets
}

const (
	maxBody    = 64 << 10 // bytes read of a response
	maxMessage = 200      // bytes of a message that an error quotes
)

func (s *Server) post(ctx context.Context, path string, query url.Values, contentType string, body []byte) (_ response, err error) {
	defer foreign.Guard(&err)
	u := s.base
	u.Path += path
	u.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(body))
	if err != nil {
		return response{}, hint.With(fmt.Errorf("InfluxDB at %s cannot be reached: the address is not valid", s), addressHint)
	}
	req.Header.Set("Content-Type", contentType)
	if s.auth != "" {
		req.Header.Set("Authorization", s.auth)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return response{}, hint.With(fmt.Errorf("InfluxDB at %s cannot be reached: %s", s, reason(err)), "start it, or check ASSAY_INFLUX_URL")
	}
	defer resp.Body.Close() // read only
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	// The connection can be reused only after the whole body was read.
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxBody))
	return response{status: resp.StatusCode, version: resp.Header.Get("X-Influxdb-Version"), message: errorMessage(text)}, nil
}

// errorMessage extracts the error from a body: InfluxDB 1 sends {"error": ...}, and for
// a query {"results": [{"error": ...}]}; InfluxDB 2 sends {"message": ...}.
func errorMessage(body []byte) string {
	var parsed struct {
		Error   string `json:"error"`
		Message string `json:"message"`
		Results []struct {
			Error string `json:"error"`
		} `json:"results"`
	}
	if json.Unmarshal(body, &parsed) != nil {
		return shorten(string(body)) // perhaps of a proxy, or not of InfluxDB at all
	}
	text := parsed.Error
	for _, r := range parsed.Results {
		text = cmp.Or(text, r.Error)
	}
	return shorten(cmp.Or(text, parsed.Message))
}

// shorten makes one line of a text, without secrets, which a server may echo.
func shorten(text string) string {
	return mask.Cut(strings.TrimSpace(plain(mask.Text(text))), maxMessage)
}

func (r response) text() string {
	if r.message == "" {
		return fmt.Sprintf("HTTP status %d %s", r.status, http.StatusText(r.status))
	}
	return r.message
}

// noDatabase reports that the database does not exist on a server of version 1.
func (r response) noDatabase() bool {
	return r.status == http.StatusNotFound && strings.HasPrefix(r.version, "1.") && strings.Contains(r.message, "database not found")
}

// errorOf is the error of a response; nil for a success.
func (s *Server) errorOf(r response) error {
	switch {
	case r.status/100 == 2:
		return nil
	case r.status == http.StatusUnauthorized || r.status == http.StatusForbidden:
		return hint.With(fmt.Errorf("InfluxDB at %s denied the write: %s", s, r.text()), tokenHint)
	case r.status == http.StatusNotFound:
		return hint.With(fmt.Errorf("InfluxDB at %s has no such database or bucket: %s", s, r.text()), "create it, or name another one: "+addressHint)
	case r.status/100 == 3:
		return hint.With(fmt.Errorf("InfluxDB at %s redirects elsewhere: HTTP status %d", s, r.status), addressHint)
	}
	err := fmt.Errorf("InfluxDB at %s rejected the points: %s", s, r.text())
	if r.status/100 == 4 && r.status != http.StatusTooManyRequests {
		err = &rejectedError{err}
	}
	return hint.With(err, "check the server's log")
}

// rejectedError is the error of a write whose content the server rejects: a retry would
// fail too.
type rejectedError struct{ error }

// reason is why a server cannot be reached, without the URL that the error contains.
func reason(err error) string {
	var number syscall.Errno
	var inner *url.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return "timed out"
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, io.EOF):
		return "connection closed by the server"
	case errors.As(err, &number):
		return number.Error()
	case errors.As(err, &inner):
		return shorten(inner.Err.Error())
	}
	return shorten(err.Error())
}
