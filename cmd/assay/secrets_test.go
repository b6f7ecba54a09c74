//go:build live

package main

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"
	"github.com/rogpeppe/go-internal/testscript"
)

// awkwardPassword has what JSON, Go, URLs and HTML escape, and no character that a name of
// a database's user or a DSN may not have.
const awkwardPassword = `Zq7&x"w\k+r %z<v'9é/u@p`

// traces are the forms in which a program may have left the secret.
func traces(secret string) map[string]string {
	quoted, _ := json.Marshal(secret)
	inJSON := strings.Trim(string(quoted), `"`)
	asGo := strings.Trim(strconv.Quote(secret), `"`)
	all := map[string]string{
		"as it is": secret, "JSON": inJSON, "JavaScript": strings.NewReplacer(`\u0026`, "&", `\u003c`, "<").Replace(inJSON),
		"Go": asGo, "Go of JSON": strings.Trim(strconv.Quote(asGo), `"`),
		"query": url.QueryEscape(secret), "query, lower": strings.ToLower(url.QueryEscape(secret)), "path": url.PathEscape(secret),
		"HTML":  html.EscapeString(secret),
		"start": secret[:8], "end": secret[len(secret)-8:], // what is left of a text that was cut
		"end, query": url.QueryEscape(secret[len(secret)-8:]),
		"letters":    "Zq7", // first letters of the start, whatever is escaped after them
	}
	plain := maps.Clone(all)
	for _, form := range []string{"as it is", "JSON", "JavaScript", "Go", "query", "path", "HTML"} {
		all["hexadecimal of "+form] = hex.EncodeToString([]byte(plain[form]))
		for before := range 3 {
			text := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", before) + plain[form]))
			all[fmt.Sprint("base64 of ", form, " at ", before)] = text[4 : len(text)-4]
		}
	}
	return all
}

// leavesNoTrace [DIR] fails if any file below the folder, or the output of the last command,
// has the awkward password in some form, or if its worker's log has nothing that was masked.
func leavesNoTrace(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 1 {
		ts.Fatalf("usage: leaves-no-trace [DIR]")
	}
	texts := map[string]string{"stdout": ts.ReadFile("stdout"), "stderr": ts.ReadFile("stderr")}
	for _, dir := range args {
		ts.Check(filepath.WalkDir(ts.MkAbs(dir), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(path)
			if err == nil && strings.HasSuffix(path, ".zst") {
				var d *zstd.Decoder
				if d, err = zstd.NewReader(nil); err == nil {
					data, err = d.DecodeAll(data, nil)
				}
			}
			texts[path] = string(data)
			return err
		}))
	}
	for name, text := range texts {
		for form, trace := range traces(awkwardPassword) {
			if at := strings.Index(text, trace); at >= 0 {
				ts.Fatalf("%s has the password (%s): %q", name, form, text[max(0, at-60):min(len(text), at+60)])
			}
		}
	}
}

// recordInflux FILE starts a server in the place of InfluxDB, which writes all that it is
// sent to the file.
func recordInflux(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: record-influx FILE")
	}
	file, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	var mu sync.Mutex
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		_, _ = file.Write(body)
		w.WriteHeader(http.StatusNoContent)
	}))
	ts.Defer(func() { server.Close(); _ = file.Close() })
	ts.Setenv("ASSAY_INFLUX_URL", server.URL)
}
