package wire_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"assay.dev/assay/internal/wire"
)

// FuzzSender: only the tokens of a run, and the credentials that its keys have signed, are
// anybody's.
func FuzzSender(f *testing.F) {
	keys := wire.NewKeys("run", "a-token-of-the-run")
	for _, bearer := range []string{"", ".", "..", "0..", "0.a.b", "-1.a.", "99999999999999999999.a.b", "a-token-of-the-ru", "a-token-of-the-run", "0.a." + string(make([]byte, 64))} {
		f.Add(bearer)
	}
	f.Fuzz(func(t *testing.T, bearer string) {
		if s, known := keys.Sender(bearer); known && bearer != "a-token-of-the-run" {
			t.Errorf("%q is %+v", bearer, s)
		}
		r := &http.Request{Header: http.Header{"Authorization": {bearer}}}
		if _, known := keys.Sender(wire.Bearer(r)); known && bearer != "Bearer a-token-of-the-run" && !foldsToBearer(bearer) {
			t.Errorf("the header %q is known", bearer)
		}
	})
}

func foldsToBearer(header string) bool {
	return len(header) > 7 && header[6] == ' ' && header[7:] == "a-token-of-the-run"
}

// FuzzAnswers: whatever a coordinator answers, a worker's link returns it or an error.
func FuzzAnswers(f *testing.F) {
	f.Add(200, `{"run":"a","number":1,"of":2,"config":{},"session":null}`, `{"at":"2026-01-01T00:00:00Z"}`)
	f.Add(202, `{"joined":-1,"of":1e9}`, "")
	f.Add(409, "no\nplace", "{")
	f.Add(302, "", "[")
	f.Add(500, "\xff", "")
	f.Fuzz(func(t *testing.T, status int, body, clock string) {
		if status < 200 || status > 599 {
			return
		}
		l := wire.New("http://coordinator.invalid", "token", nil)
		l.Use(func(*http.Request) *http.Response {
			r := httptest.NewRecorder()
			r.Header().Set(wire.HeaderClock, clock)
			r.WriteHeader(status)
			_, _ = io.WriteString(r, body)
			return r.Result()
		})
		ctx := t.Context()
		a, _, err := l.Join(ctx, wire.Hello{})
		var refused *wire.RefusedError
		if err == nil && status >= 300 || a != nil && err != nil || errors.As(err, &refused) && len(refused.Reason) > 4<<10 {
			t.Errorf("%d: %+v, %v", status, a, err)
		}
		_, _ = l.Start(ctx, nil)
		_, _ = l.Heartbeat(ctx)
		_, _ = l.Frames(ctx, nil)
	})
}
