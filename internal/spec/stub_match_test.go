package spec_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"assay.dev/assay/internal/spec"
)

// decodeMatch reads a stub file with one endpoint.
func decodeMatch(match string) error {
	_, err := spec.DecodeStub("stub.json", fmt.Appendf(nil, `{"version": 1, "endpoints": [{"name": "a", "match": %q, "latency": {"fixed": "1ms"}}]}`, match))
	return err
}

// refusedByMux is why net/http does not take a pattern; nil: it does.
func refusedByMux(pattern string) (refused any) {
	defer func() { refused = recover() }()
	http.NewServeMux().Handle(pattern, http.NotFoundHandler())
	return nil
}

func TestStubMatch(t *testing.T) {
	for match, valid := range map[string]bool{
		"/": true, "POST /charge": true, "GET /charge/{id}": true, "/{$}": true, "GET /charge/{$}": true, "/files/{path...}": true, "/{a}/{b}": true,
		"/charge-{id}": false, "/{id}-charge": false, "/{id$}": false, "/a/{id}/{id}": false, "/{$}/a": false, "/{path...}/a": false, "/{...}": false,
		"/{}": false, "/{1}": false, "/{a}{b}": false, "/{{a}}": false, "/a}": false, "/.": false, "/a/..": false, "//": false, "/a/": true, "/{a/b}": false,
	} {
		if err := decodeMatch(match); (err == nil) != valid {
			t.Errorf("%s: %v", match, err)
		}
	}
}

// Every match that a stub file may have is a pattern of net/http, which matches the calls.
func TestStubMatchesAreOfNetHTTP(t *testing.T) {
	piece := rapid.SampledFrom([]string{"/", "/", "a", "-", "{", "}", "{id}", "/{id}", "/{b}", "/{c...}", "...", "$", "/{$}", "."})
	rapid.Check(t, func(t *rapid.T) {
		match := "GET /" + strings.Join(rapid.SliceOfN(piece, 0, 6).Draw(t, "pieces"), "")
		if refused := refusedByMux(match); refused != nil && decodeMatch(match) == nil {
			t.Fatalf("%s: %v", match, refused)
		}
	})
}
