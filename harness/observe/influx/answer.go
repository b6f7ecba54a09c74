package influx

import (
	"bytes"
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

	"assay/harness/hint"
)

// answer is what a server said.
type answer struct {
	status  int
	version string
	said    string // its error, on one line and without our secrets
}

// maxAnswer bounds what is read of an answer, maxSaid what an error quotes of it.
const (
	maxAnswer = 64 << 10
	maxSaid   = 200
)

func (s *Server) post(ctx context.Context, path string, query url.Values, contentType string, body []byte) (answer, error) {
	u := s.base
	u.Path += path
	u.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(body))
	if err != nil {
		return answer{}, hint.With(fmt.Errorf("InfluxDB at %s cannot be asked: the address is not one", s), addressHint)
	}
	req.Header.Set("Content-Type", contentType)
	if s.auth != "" {
		req.Header.Set("Authorization", s.auth)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return answer{}, hint.With(fmt.Errorf("InfluxDB at %s cannot be reached: %s", s, s.hide(reason(err))), "start it, or see what ASSAY_INFLUX_URL names")
	}
	defer resp.Body.Close() // read only
	said, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	// What is left of it would cost the connection.
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxAnswer))
	return answer{status: resp.StatusCode, version: resp.Header.Get("X-Influxdb-Version"), said: s.hide(message(said))}, nil
}

// message finds the error in a body: InfluxDB 1 says {"error": ...}, and for a
// query {"results": [{"error": ...}]}; InfluxDB 2 {"message": ...}.
func message(body []byte) string {
	var told struct {
		Error   string `json:"error"`
		Message string `json:"message"`
		Results []struct {
			Error string `json:"error"`
		} `json:"results"`
	}
	if json.Unmarshal(body, &told) != nil {
		return shorten(string(body)) // of something else than InfluxDB, perhaps
	}
	text := told.Error
	for _, r := range told.Results {
		if text == "" {
			text = r.Error
		}
	}
	if text == "" {
		text = told.Message
	}
	return shorten(text)
}

func shorten(text string) string {
	text = strings.TrimSpace(plain(text))
	if len(text) > maxSaid {
		text = strings.ToValidUTF8(text[:maxSaid-3], "") + "..."
	}
	return text
}

func (s *Server) hide(text string) string {
	for _, secret := range s.secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "...")
		}
	}
	return text
}

func (a answer) text() string {
	if a.said == "" {
		return fmt.Sprintf("it answers %d %s", a.status, http.StatusText(a.status))
	}
	return a.said
}

// noDatabase tells that a server of version 1 has not got the database.
func (a answer) noDatabase() bool {
	return a.status == http.StatusNotFound && strings.HasPrefix(a.version, "1.") && strings.Contains(a.said, "database not found")
}

// explain makes an error of an answer that is not a success.
func (s *Server) explain(a answer) error {
	switch {
	case a.status/100 == 2:
		return nil
	case a.status == http.StatusUnauthorized || a.status == http.StatusForbidden:
		return hint.With(fmt.Errorf("InfluxDB at %s refuses to be written to: %s", s, a.text()), tokenHint)
	case a.status == http.StatusNotFound:
		return hint.With(fmt.Errorf("InfluxDB at %s has not what is written to: %s", s, a.text()), "make the database or bucket, or name another one: "+addressHint)
	case a.status/100 == 3:
		return hint.With(fmt.Errorf("InfluxDB at %s leads elsewhere: it answers %d", s, a.status), addressHint)
	}
	err := fmt.Errorf("InfluxDB at %s did not take the points: %s", s, a.text())
	if a.status/100 == 4 && a.status != http.StatusTooManyRequests {
		err = &refusal{err}
	}
	return hint.With(err, "see the server's log")
}

// refusal is of what was written: it would be refused again.
type refusal struct{ error }

// reason is why a server cannot be reached, without the URL that it stands
// beside.
func reason(err error) string {
	var number syscall.Errno
	var inner *url.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return "no answer in time"
	case errors.Is(err, context.Canceled):
		return "it took too long"
	case errors.Is(err, io.EOF):
		return "the connection was closed"
	case errors.As(err, &number):
		return number.Error()
	case errors.As(err, &inner):
		return shorten(inner.Err.Error())
	}
	return shorten(err.Error())
}
