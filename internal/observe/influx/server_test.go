package influx

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"assay.dev/assay/internal/hint"
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
		"the token is echoed":           {token, "Token " + token, 403, "", "no rights for " + token, "no rights for ***", "no rights for ***"},
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
