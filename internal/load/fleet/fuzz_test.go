package fleet_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/load/fleet"
	"assay.dev/assay/internal/wire"
)

// FuzzMessages: whatever a worker sends, the coordinator answers it.
func FuzzMessages(f *testing.F) {
	f.Add(`{"identity":"a","pid":1,"tool":{"version":"v1.2.3","revision":"0123456789abcdef"},"machine":{"name":"a","cpus":-1}}`, `{"metrics":{"a":"trend"},"archive":"x"}`, "0")
	f.Add(`{"identity":"."}`, `{"setup":[]}`, "-9223372036854775808")
	f.Add(`null`, `{"status":"0","error":"a\nb"}`, "9223372036854775807")
	f.Add(`{"identity":"`+strings.Repeat("a", 1<<16)+`"}`, `[`, "x")
	f.Fuzz(func(t *testing.T, hello, message, offset string) {
		c := fleet.NewCoordinator(fleet.Options{Workers: 1, Tool: tool, Keys: keys, Check: anyMetrics})
		mux := http.NewServeMux()
		c.Routes(mux)
		post := func(path, bearer, body string) *httptest.ResponseRecorder {
			r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			r = r.WithContext(ctx)
			r.Header.Set("Authorization", "Bearer "+bearer)
			r.Header.Set(wire.HeaderOffset, offset)
			w := httptest.NewRecorder()
			mux.ServeHTTP(w, r)
			return w
		}
		post(wire.PathJoin, keys.Token(), hello)
		c.Hosts()
		c.Rejected()
		credential := keys.Credential(0, "a")
		for _, path := range []string{wire.PathReady, wire.PathStart, wire.PathHeartbeat, wire.PathExit} {
			post(path, credential, message)
		}
		if n, err := strconv.ParseInt(offset, 10, 64); err != nil || n < 0 {
			if code := post(wire.PathLog, credential, message).Code; code < 400 {
				t.Errorf("a log at %s: status %d", offset, code)
			}
		}
	})
}

// FuzzLog: of any log of k6 the first and the last problem are a line each.
func FuzzLog(f *testing.F) {
	for _, log := range []string{
		`time="2026-11-20T23:54:40Z" level=error msg="Error: a\n\tat file:///srv/pay.js:1:34(3)\n" hint="script exception"`,
		`level=warning msg="Request Failed" error="Post \"http://a\": EOF"`, "level=error msg=", `level=error msg="\`, "panic: a\n\ngoroutine 1 [running]:\n", "fatal error: b", "level=fatal msg=\"a:\\n\\t- b\"",
	} {
		f.Add([]byte(log))
	}
	f.Fuzz(func(t *testing.T, log []byte) {
		for _, text := range []string{fleet.FirstProblem(log), fleet.LastError(log)} {
			if strings.Contains(text, "\n") {
				t.Errorf("several lines: %q", text)
			}
		}
	})
}
