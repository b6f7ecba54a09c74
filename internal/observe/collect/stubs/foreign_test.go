package stubs

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
)

// What is no state of a stub is refused, whatever it counts.
func TestForeignStates(t *testing.T) {
	t.Parallel()
	for text, ok := range map[string]bool{
		`{"instance":"a","endpoints":[{"endpoint":"charge","calls":{"answered":3},"call_ms":7}]}`: true,
		`{}`: false, `null`: false, `{"instance":"a","forgotten":-1}`: false,
		`{"instance":"a","endpoints":[{"calls":{"answered":-3}}]}`:                                                        false,
		`{"instance":"a","endpoints":[{"calls":{"answered":9000000000000000000}}]}`:                                       false,
		`{"instance":"a","endpoints":[{"calls":{"sung":3}}]}`:                                                             false,
		`{"instance":"a","endpoints":[{"call_ms":-1}]}`:                                                                   false,
		`{"instance":"` + strings.Repeat("a", maxText+1) + `"}`:                                                           false,
		`{"instance":"a","endpoints":[{}` + strings.Repeat(",{}", maxEndpoints) + `]}`:                                    false,
		`{"instance":"a","phases":[{"name":"` + strings.Repeat("<", maxAnswer/2) + `"}]}`:                                 false,
		`{"instance":"a","phases":[{"endpoints":[""` + strings.Repeat(`,""`, maxAnswer/4) + `]}]}`:                        false,
		`{"instance":"a","phases":[{"errors":[{}` + strings.Repeat(",{}", maxAnswer/4) + `]}]}`:                           false,
		`{"instance":"a","phases":[{"errors":[{"body":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}]}]}`: true, // which is not kept
		`{"instance":"a","endpoints":` + strings.Repeat("[", 1<<20):                                                       false,
		`{"instance":"a","file":{"path":"` + strings.Repeat("a", maxAnswer) + `"}}`:                                       false,
	} {
		if _, err := decode(strings.NewReader(text)); (err == nil) != ok {
			t.Errorf("%.80s: %v", text, err)
		}
	}
}

// The reason of a refusal is one line, and has no secret, nor a part of one.
func TestReasonOfARefusal(t *testing.T) {
	t.Parallel()
	mask.Add("Zq7-word-of-a-stub")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "the run\n"+strings.Repeat("x", maxWhy-20)+"Zq7-word-of-a-stub"+strings.Repeat("y", maxWhy), http.StatusConflict)
	}))
	defer server.Close()
	c := NewClient("bank", server.URL, "token")
	defer c.Close()
	if _, err := c.State(t.Context()); err == nil || !strings.Contains(err.Error(), "serves another run: the run x") || strings.Contains(err.Error(), "Zq7") {
		t.Errorf("%v", err)
	}
}

// Nothing that a stub says of itself or of a call brings a secret into the record.
func TestStubsSayNoSecret(t *testing.T) {
	t.Parallel()
	const secret = "Zq7-told-by-a-stub"
	mask.Add(secret)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text := `{"instance":"a","file":{"path":"SECRET"},"phases":[{"name":"SECRET","endpoints":["SECRET"]}],"endpoints":[{"endpoint":"SECRET","calls":{"answered":1},"call_ms":7}]}`
		if r.URL.Path == PathLedger {
			text = `{"endpoint":"SECRET","id":"SECRET","outcome":"SECRET","at":1,"ms":2,"SECRET":"SECRET"}`
		}
		_, _ = io.WriteString(w, strings.ReplaceAll(text, "SECRET", secret)+"\n")
	}))
	defer server.Close()
	c := New(Options{Name: "bank", Stub: spec.Stub{URL: server.URL}, Token: "t", Run: "r"})
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	all := fmt.Sprint(c.points(State{}))
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	fact, _ := c.Fact()
	c.last.Endpoints[0].Calls[metric.StubAnswered] = 1
	_, err := c.Ledger(t.Context(), func(line []byte) error {
		all += string(line)
		return nil
	})
	if all += fmt.Sprint(fact); err != nil || strings.Contains(all, secret) || !strings.Contains(all, `"endpoint":"***","id":"***","at":1,"ms":2,"outcome":"***"`) {
		t.Errorf("%v: %s", err, all)
	}
}

// FuzzState: the counts of two states make points that only increase.
func FuzzState(f *testing.F) {
	f.Add(`{"instance":"a","run":"r","endpoints":[{"endpoint":"charge","calls":{"answered":3},"call_ms":7}]}`, `{"instance":"a","endpoints":[{"endpoint":"charge","calls":{"answered":2},"call_ms":1}]}`)
	f.Add(`{"instance":"a","phases":[{}],"forgotten":1}`, `{"instance":"b","endpoints":[{"queue":1,"working":2,"open":3}]}`)
	f.Fuzz(func(t *testing.T, first, second string) {
		c := &Collector{client: &Client{}}
		for _, text := range []string{first, second} {
			s, err := decode(strings.NewReader(text))
			if err != nil {
				continue
			}
			for _, p := range c.points(c.take(s)) {
				if !(p.Value >= 0 && p.Value < 1e300) {
					t.Errorf("%s is %g", p.Series.Key(), p.Value)
				}
			}
			c.Fact()
		}
	})
}
