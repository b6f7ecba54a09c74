package influx

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"assay/harness/hint"
	"assay/harness/observe/influx/influxtest"
)

const line = "m f=1 1795176005\n"

func TestNewServerErrors(t *testing.T) {
	for address, want := range map[string]string{
		"":                                     "is not an http or https URL",
		"127.0.0.1:8086":                       "is not an http or https URL",
		"ftp://127.0.0.1":                      "is not an http or https URL",
		"http://":                              "is not an http or https URL",
		"http://127.0.0.1:8086/#db":            "is not an http or https URL",
		"http://hunter2@127.0.0.1:8086":        "contains a user or password",
		"http://user:hunter2@127.0.0.1":        "contains a user or password",
		"http://127.0.0.1:8086?p=hunter2":      "may have no query parameter other than one db",
		"http://127.0.0.1:8086?db=a&db=b":      "may have no query parameter other than one db",
		"http://127.0.0.1:8086?db=":            "may have no query parameter other than one db",
		"http://127.0.0.1:8086?db=%zzhunter2":  "has a malformed query",
		"http://127.0.0.1:8086?db=a%0Ahunter2": "contains a control character",
	} {
		_, err := NewServer(address, "")
		if hint.Of(err) == "" || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want %s", address, err, want)
		}
	}
}

// A missing database is created, whatever its name; for a user without the right to do
// so the hint is the statement.
func TestDatabaseIsCreated(t *testing.T) {
	db := influxtest.Start(t)
	db.Query("", `CREATE USER "guest" WITH PASSWORD 'of-no-rights'`)
	for _, name := range []string{"events", "match day"} {
		s, err := NewServer(db.URL()+"?db="+strings.ReplaceAll(name, " ", "%20"), db.Token())
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Write(t.Context(), []byte(line)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if sum, n := db.Sum(name, `SELECT "f" FROM "m"`); sum != 1 || n != 1 {
			t.Errorf("%s has %d values", name, n)
		}
		s.Close()
	}
	guest, err := NewServer(db.URL()+"?db=closed", "guest:of-no-rights")
	if err != nil {
		t.Fatal(err)
	}
	defer guest.Close()
	if err := guest.Check(t.Context()); !strings.Contains(hint.Of(err), `CREATE DATABASE "closed"`) || strings.Contains(err.Error(), "\n") {
		t.Errorf("a user without rights: %v", err)
	}
}

// Responses of several versions of InfluxDB, and of other servers.
func TestResponses(t *testing.T) {
	const token = "a-very-secret-token"
	for name, c := range map[string]struct {
		token   string
		header  string // expected Authorization
		status  int
		version string
		body    string
		check   string // error of a check; empty: none
		write   string // error of a write
	}{
		"version 2":                     {token, "Token " + token, 204, "v2.7.1", "", "", ""},
		"version 2, an empty write":     {token, "Token " + token, 400, "v2.7.1", `{"code":"invalid","message":"writing requires points"}`, "", "writing requires points"},
		"version 2, no bucket":          {token, "Token " + token, 404, "v2.7.1", `{"code":"not found","message":"bucket \"assay\" not found"}`, `bucket "assay" not found`, `bucket "assay" not found`},
		"no token":                      {"", "", 401, "v2.7.1", `{"code":"unauthorized","message":"unauthorized access"}`, "unauthorized access", "unauthorized access"},
		"version 1":                     {"u:p:q", "Basic dTpwOnE=", 204, "1.8.10", "", "", ""},
		"the token is echoed":           {token, "Token " + token, 403, "", "no rights for " + token, "no rights for ...", "no rights for ..."},
		"a redirect is not followed":    {token, "Token " + token, 307, "", "", "redirects elsewhere: HTTP status 307", "redirects elsewhere: HTTP status 307"},
		"a proxy's page, on many lines": {token, "Token " + token, 502, "", "<html>\n<h1>Bad Gateway</h1>\n" + strings.Repeat("x", 1000), "<html> <h1>Bad Gateway</h1> xxx", "xxx..."},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if got := r.Header.Get("Authorization"); got != c.header {
					t.Errorf("authorization is %q, want %q", got, c.header)
				}
				if r.URL.Path != "/behind/write" || r.URL.RawQuery != "db=assay&precision=s" {
					t.Errorf("request for %s", r.URL)
				}
				w.Header().Set("X-Influxdb-Version", c.version)
				w.Header().Set("Location", "http://127.0.0.1:1/")
				w.WriteHeader(c.status)
				_, _ = fmt.Fprint(w, c.body)
			}))
			defer server.Close()
			s, err := NewServer(server.URL+"/behind/", c.token)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			for what, got := range map[string][2]string{
				"check": {text(s.Check(t.Context())), c.check}, "write": {text(s.Write(t.Context(), []byte(line))), c.write},
			} {
				if (got[0] == "") != (got[1] == "") || !strings.Contains(got[0], got[1]) || strings.Contains(got[0], token) || strings.Contains(got[0], "\n") {
					t.Errorf("%s: %q, want %q", what, got[0], got[1])
				}
			}
		})
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// A write to a frozen or killed server fails when the caller's context ends, and succeeds
// when the server returns in time.
func TestServerOutage(t *testing.T) {
	db := influxtest.Start(t)
	s := serverOf(t, db)
	defer s.Close()
	db.Freeze()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := s.writeWithRetry(ctx, []byte(line)); !strings.Contains(text(err), "cannot be reached: timed out") {
		t.Errorf("frozen: %v", err)
	}
	db.Kill()
	ctx, cancel = context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if err := s.writeWithRetry(ctx, []byte(line)); !strings.Contains(text(err), "cannot be reached: connection refused") {
		t.Errorf("killed: %v", err)
	}
	restart := time.AfterFunc(300*time.Millisecond, db.Restart)
	defer restart.Stop()
	if err := s.writeWithRetry(t.Context(), []byte(line)); err != nil {
		t.Errorf("restarted: %v", err)
	}
}
