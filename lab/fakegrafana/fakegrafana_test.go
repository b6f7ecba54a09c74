package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// write creates a provisioning folder with one dashboard, with each file edited.
func write(t *testing.T, edit func(name, text string) string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"datasources/a.yaml": "apiVersion: 1\ndatasources:\n  - {name: A, uid: a, type: influxdb, url: $URL, user: $USER_NAME, jsonData: {dbName: d}, secureJsonData: {password: $SECRET}}\n",
		"dashboards/b.yaml":  "apiVersion: 1\nproviders:\n  - {name: B, type: file, options: {path: " + dir + "/boards}}\n",
		"boards/c.json":      `{"uid": "c", "title": "C", "panels": [{}]}`,
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if text = edit(name, text); text != "" {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

// TestRefuses checks that a missing or invalid file is an error.
func TestRefuses(t *testing.T) {
	env := func(name string) (string, bool) { return name, name != "UNSET" }
	if _, err := load(write(t, func(_, text string) string { return text }), env); err != nil {
		t.Fatal(err)
	}
	for name, edits := range map[string][][2]string{
		"datasources/a.yaml": {{"", ""}, {"$SECRET", "$UNSET"}, {"name:", "nam:"}, {"uid: a,", ""}, {"- {", "- ["}},
		"dashboards/b.yaml":  {{"", ""}, {"/boards", "/none"}, {"type: file", "type: git"}},
		"boards/c.json":      {{"", ""}, {"}]", "}"}, {`"uid"`, `"id"`}, {"[{}]", "[]"}},
	} {
		for _, e := range edits {
			dir := write(t, func(n, text string) string {
				switch {
				case n != name:
					return text
				case e[0] == "":
					return ""
				}
				return strings.Replace(text, e[0], e[1], 1)
			})
			if p, err := load(dir, env); err == nil {
				t.Errorf("%s with %q for %q gives %v", name, e[1], e[0], p)
			}
		}
	}
}

// TestDatasourceHealth checks that a datasource is healthy only if its server accepts the
// provisioned user and has measurements.
func TestDatasourceHealth(t *testing.T) {
	body := `{"results":[{"series":[{}]}]}`
	influx := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if u, p, _ := r.BasicAuth(); u != "reader" || p != "right" || r.FormValue("db") != "d" {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"error":"authorization failed"}`))
			return
		}
		_, _ = w.Write([]byte(body))
	}))
	defer influx.Close()
	status := func(password, login string) int {
		p, err := load(write(t, func(_, text string) string { return text }), func(name string) (string, bool) {
			return map[string]string{"URL": influx.URL, "USER_NAME": "reader", "SECRET": password}[name], true
		})
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest(http.MethodGet, "/api/datasources/uid/a/health", http.NoBody)
		r.SetBasicAuth("admin", login)
		w := httptest.NewRecorder()
		p.handler("admin", "login").ServeHTTP(w, r)
		return w.Code
	}
	for want, got := range map[int]int{http.StatusOK: status("right", "login"), http.StatusBadRequest: status("wrong", "login"), http.StatusUnauthorized: status("right", "no")} {
		if got != want {
			t.Errorf("status %d, want %d", got, want)
		}
	}
	body = `{"results":[{}]}`
	if got := status("right", "login"); got != http.StatusBadRequest {
		t.Errorf("status of an empty database: %d", got)
	}
}
