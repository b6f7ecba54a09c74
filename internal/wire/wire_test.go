package wire_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/wire"
)

func TestFromEnvironmentRemovesTheVariables(t *testing.T) {
	if l := wire.FromEnvironment(); l != nil {
		t.Errorf("without variables the link is %v", l)
	}
	got := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got <- r.URL.Path + " " + r.Header.Get("Authorization")
	}))
	defer server.Close()
	t.Setenv(wire.EnvURL, server.URL+"/")
	t.Setenv(wire.EnvToken, "secret")
	t.Setenv(wire.EnvSource, "worker/3")
	t.Setenv(wire.EnvOffset, "-1.5s")
	l := wire.FromEnvironment()
	if l == nil || l.Source != "worker/3" || l.Offset != -1500*time.Millisecond {
		t.Fatalf("the link is %v", l)
	}
	for _, kv := range os.Environ() {
		if strings.Contains(kv, "secret") || strings.HasPrefix(kv, "ASSAY_COORDINATOR") {
			t.Errorf("scripts would see %s", kv)
		}
	}
	if _, err := l.Frames(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if want := wire.PathMetrics + " Bearer secret"; <-got != want {
		t.Errorf("the coordinator did not get %s", want)
	}
}

// Only responses that may change on a retry are not refusals.
func TestAnswers(t *testing.T) {
	for status, want := range map[int]struct{ fails, refused bool }{
		200: {}, 204: {}, 400: {true, true}, 401: {true, true}, 410: {true, true}, 413: {true, true}, 422: {true, true},
		429: {fails: true}, 500: {fails: true}, 503: {fails: true},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			if status != 204 {
				_, _ = io.WriteString(w, "the reason\n")
			}
		}))
		_, err := wire.New(server.URL, "secret", nil).Frames(t.Context(), []byte("frames"))
		server.Close()
		var refused *wire.RefusedError
		if (err != nil) != want.fails || errors.As(err, &refused) != want.refused {
			t.Errorf("%d: %v", status, err)
		}
		if want.refused && (refused.Status != status || refused.Reason != "the reason") {
			t.Errorf("%d: %v", status, err)
		}
	}
	gone := httptest.NewServer(nil)
	gone.Close()
	_, err := wire.New(gone.URL, "secret", nil).Frames(t.Context(), nil)
	var refused *wire.RefusedError
	if err == nil || errors.As(err, &refused) || strings.Contains(err.Error(), "secret") {
		t.Errorf("no coordinator: %v", err)
	}
}

// The reason of a refusal is masked before a part of it is cut off.
func TestReasonHasNoSecret(t *testing.T) {
	secret := "Zq7-" + strings.Repeat("word-", 20)
	mask.Add(secret)
	l := wire.New("http://127.0.0.1:1", "token", nil)
	l.Use(func(*http.Request) *http.Response {
		return &http.Response{StatusCode: http.StatusForbidden, Body: io.NopCloser(strings.NewReader(strings.Repeat(secret, 1000)))}
	})
	var refused *wire.RefusedError
	if _, err := l.Frames(t.Context(), nil); !errors.As(err, &refused) || refused.Reason != "***" {
		t.Errorf("%v", err)
	}
}

type message struct {
	method, path, bearer, kind string
	headers                    [3]string // source, sequence, offset
	body                       string
}

// answers are the coordinator's, by path.
var answers = map[string]string{
	wire.PathStart:     `{"t0":"2026-11-20T23:54:40Z","setup":{"a":1}}`,
	wire.PathHeartbeat: `{"received":"2026-11-20T23:54:40Z","answered":"2026-11-20T23:54:41Z","stop":"enough"}`,
	wire.PathArchive:   "tar",
	wire.PathJoin:      `{"run":"r","source":"worker/1","number":1,"of":2,"credential":"own"}`,
}

func TestMessages(t *testing.T) {
	got := make(chan message, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // a short body differs
		got <- message{
			r.Method, r.URL.Path, wire.Bearer(r), r.Header.Get("Content-Type"),
			[3]string{r.Header.Get(wire.HeaderSource), r.Header.Get(wire.HeaderSequence), r.Header.Get(wire.HeaderOffset)},
			string(body),
		}
		w.Header().Set(wire.HeaderClock, `{"offset_ms":1,"drift_ms":2,"round_trip_ms":3}`)
		_, _ = io.WriteString(w, answers[r.URL.Path])
	}))
	defer server.Close()
	token := wire.New(server.URL, "token", nil)
	l := token.As(wire.Assignment{Source: "worker/1", Credential: "own"})
	at := time.Date(2026, 11, 20, 23, 54, 40, 0, time.UTC)
	for _, c := range []struct {
		send   func() (any, error)
		want   message
		answer any
	}{
		{
			func() (any, error) {
				a, _, err := token.Join(t.Context(), wire.Hello{Identity: "i", PID: 7})
				return a.Source + a.Credential, err
			},
			message{"POST", wire.PathJoin, "token", "application/json", [3]string{}, `{"identity":"i","pid":7,"tool":{"version":""},"machine":{"name":"","os":"","kernel":"","cpu":"","cpus":0,"memory":0,"available":0,"descriptors":0,"boot":"","namespace":""}}`},
			"worker/1own",
		},
		{
			func() (any, error) { a, err := l.Archive(t.Context()); return string(a), err },
			message{"GET", wire.PathArchive, "own", "", [3]string{}, ""},
			"tar",
		},
		{
			func() (any, error) {
				return nil, l.Ready(t.Context(), wire.Ready{Metrics: map[string]string{"m": "trend"}, Archive: "aa", PID: 9})
			},
			message{"POST", wire.PathReady, "own", "application/json", [3]string{}, `{"metrics":{"m":"trend"},"archive":"aa","pid":9}`},
			nil,
		},
		{
			func() (any, error) { return l.Start(t.Context(), json.RawMessage(`{"b":2}`)) },
			message{"POST", wire.PathStart, "own", "application/json", [3]string{}, `{"setup":{"b":2}}`},
			&wire.StartResponse{T0: at, Setup: json.RawMessage(`{"a":1}`)},
		},
		{
			func() (any, error) { return l.Start(t.Context(), nil) },
			message{"POST", wire.PathStart, "own", "application/json", [3]string{}, `{}`},
			&wire.StartResponse{T0: at, Setup: json.RawMessage(`{"a":1}`)},
		},
		{
			func() (any, error) { c, err := l.Frames(t.Context(), []byte("frames")); return *c, err },
			message{"POST", wire.PathMetrics, "own", "application/x-protobuf", [3]string{}, "frames"},
			wire.Clock{OffsetMs: 1, DriftMs: 2, RoundTripMs: 3},
		},
		{
			func() (any, error) { return nil, l.Acknowledged(t.Context(), 7, []byte("entries")) },
			message{"POST", wire.PathAcknowledged, "own", "text/plain", [3]string{"worker/1", "7"}, "entries"},
			nil,
		},
		{
			func() (any, error) { return l.Heartbeat(t.Context()) },
			message{"POST", wire.PathHeartbeat, "own", "", [3]string{}, ""},
			wire.Pulse{Received: at, Answered: at.Add(time.Second), Stop: "enough"},
		},
		{
			func() (any, error) { return nil, l.Log(t.Context(), 12, []byte("line\n")) },
			message{"POST", wire.PathLog, "own", "text/plain", [3]string{"", "", "12"}, "line\n"},
			nil,
		},
		{
			func() (any, error) { return nil, l.Exit(t.Context(), wire.Exit{Status: "0"}) },
			message{"POST", wire.PathExit, "own", "application/json", [3]string{}, `{"status":"0"}`},
			nil,
		},
	} {
		answer, err := c.send()
		if err != nil || !reflect.DeepEqual(answer, c.answer) {
			t.Errorf("%s: answer %+v, %v, want %+v", c.want.path, answer, err, c.answer)
		}
		if m := <-got; m != c.want {
			t.Errorf("sent %+v, want %+v", m, c.want)
		}
	}
}

// Until all workers have joined, the answer says how many have; until all are ready, there
// is no start.
func TestWaitingForOthers(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, `{"joined":1,"of":3}`)
	}))
	defer server.Close()
	l := wire.New(server.URL, "token", nil)
	if s, err := l.Start(t.Context(), nil); s != nil || err != nil {
		t.Errorf("started: %v, %v", s, err)
	}
	a, waiting, err := l.Join(t.Context(), wire.Hello{})
	if a != nil || waiting != (wire.Waiting{Joined: 1, Of: 3}) || err != nil {
		t.Errorf("%v, %v, %v", a, waiting, err)
	}
}

// An assignment has all stages of the load, however many a thresholds file has room for.
func TestLongAssignment(t *testing.T) {
	stage := `{"name":"stage 00000","start_ns":86400000000000,"duration_ns":60000000000,"from":12345.5,"to":23456.5,"arrivals":1234567},`
	config := []byte(`[` + strings.Repeat(stage, 47_000) + `0]`)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(wire.Assignment{Source: "worker/0", Config: config, Session: []byte(`{}`)})
	}))
	defer server.Close()
	a, _, err := wire.New(server.URL, "token", nil).Join(t.Context(), wire.Hello{})
	if err != nil || a == nil || len(a.Config) != len(config) {
		t.Errorf("%v", err)
	}
}

// The wait for the start ends with ctx or with a malformed response.
func TestStartThatDoesNotCome(t *testing.T) {
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	defer silent.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := wire.New(silent.URL, "secret", nil).Start(ctx, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting without end: %v", err)
	}
	malformed := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "go!") }))
	defer malformed.Close()
	if _, err := wire.New(malformed.URL, "secret", nil).Start(t.Context(), nil); err == nil {
		t.Error("a malformed answer was taken for the start")
	}
}

// A credential names one worker of one run, and cannot be changed into another one.
func TestKeys(t *testing.T) {
	keys := wire.NewKeys("run", "token")
	if s, ok := keys.Sender("token"); !ok || s != (wire.Sender{MayJoin: true}) {
		t.Errorf("the token: %+v, %t", s, ok)
	}
	if s, ok := keys.WithForeignToken("push").Sender("push"); !ok || s != (wire.Sender{}) {
		t.Errorf("a token for foreign metrics: %+v, %t", s, ok)
	}
	if s, ok := keys.Sender("push"); ok {
		t.Errorf("another run's token for foreign metrics: %+v", s)
	}
	own := keys.Credential(12, "identity")
	if s, ok := keys.Sender(own); !ok || s != (wire.Sender{Worker: true, Number: 12, Identity: "identity"}) {
		t.Errorf("a credential: %+v, %t", s, ok)
	}
	if again := wire.NewKeys("run", "token").Credential(12, "identity"); again != own {
		t.Error("a restarted coordinator would not know its workers")
	}
	for name, bearer := range map[string]string{
		"none": "", "another token": "tokens", "another run": wire.NewKeys("run 2", "token").Credential(12, "identity"),
		"another run's token": wire.NewKeys("run", "token 2").Credential(12, "identity"), "another number": "13" + own[2:],
		"another identity": strings.Replace(own, "identity", "another", 1), "no signature": "12.identity.", "parts": own + ".", "not a number": "x" + own[2:],
	} {
		if s, ok := keys.Sender(bearer); ok {
			t.Errorf("%s: %+v", name, s)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		if bearer := rapid.String().Draw(t, "bearer"); bearer != "token" {
			if s, ok := keys.Sender(bearer); ok {
				t.Fatalf("%q is %+v", bearer, s)
			}
		}
	})
}
