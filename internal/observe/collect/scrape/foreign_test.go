package scrape

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"assay.dev/assay/internal/foreign"
)

// hostile are expositions that no service should send. The first one makes older versions of
// expfmt panic.
var hostile = []string{
	"# TYPE http_request_duration_seconds gauge\n{\"http_request_duration_seconds\"=\"a\"}1",
	"# TYPE jobs gauge\n{\"jobs\"=\"a\"}1", "{\"jobs\"}", "{\"jobs\",}1", "{\"\"}1", "{", "jobs{", "jobs{a=\"", "jobs{a=\"\\", "jobs 1 2 3",
	"# TYPE jobs histogram\njobs_bucket{le=\"x\"} 1\n", "# TYPE jobs summary\njobs{quantile=\"NaN\"} NaN\n", "# TYPE jobs histogram\njobs 1\n",
	"# TYPE jobs histogram\n# TYPE jobs counter\njobs 1", "jobs -1\njobs NaN\njobs +Inf\njobs 1e308\n", "jobs{a=\"\xff\xfe\"} 1\n", "\xff\xfe", "\x00",
	"# TYPE jobs\n# HELP jobs \\\n", "jobs 1 99999999999999999999\n",
}

func isJobs(family string) bool {
	return family == "jobs" || family == "http_request_duration_seconds"
}

// A parser's panic is an error, and its error is one line of bounded length.
func TestHostileExpositions(t *testing.T) {
	t.Parallel()
	for _, text := range append([]string{"jobs " + strings.Repeat("1\t", 1<<20), "jobs{a=\"" + strings.Repeat("x", 1<<20) + "\" 1"}, hostile...) {
		if _, err := Parse([]byte(text), isJobs); err != nil && (strings.Contains(err.Error(), "\n") || len(err.Error()) > 400) {
			t.Errorf("%.60q: an error of %d bytes: %.500s", text, len(err.Error()), err)
		}
	}
}

func TestTooManySeries(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range maxLines {
		fmt.Fprintf(&text, "jobs{i=\"%d\"} 1\nother{i=\"%d\"} 1\n", i, i)
	}
	if found, err := Parse([]byte(text.String()), isJobs); err != nil || len(found["jobs"].GetMetric()) != maxLines {
		t.Errorf("%d lines: %v", maxLines, err)
	}
	text.WriteString("jobs 1\n")
	if _, err := Parse([]byte(text.String()), isJobs); err == nil {
		t.Errorf("more than %d lines were parsed", maxLines)
	}
}

func TestPlausible(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]bool{
		0: true, 1e15: true, -1: false, 1e308: false, math.Inf(1): false, math.Inf(-1): false, math.NaN(): false,
		float64(math.MaxUint64): false, // a count of -1
	} {
		if Plausible(v) != want {
			t.Errorf("%g: %t", v, !want)
		}
	}
}

// The status of an answer may be any text.
func TestHostileStatus(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(c, "HTTP/1.1 503 \x1b[2J"+strings.Repeat("x", 50_000)+"\r\n\r\n")
		_ = c.Close()
	}))
	defer s.Close()
	if _, err := New(s.URL).Fetch(t.Context()); err == nil || !strings.Contains(err.Error(), " answers 503 [2Jx") || len(err.Error()) > 400 {
		t.Errorf("%.500q", err)
	}
}

// What reads an instance's exposition may panic: the others are read all the same.
func TestPanicOfAReading(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer s.Close()
	g := NewGroup(fixed(s.URL+"/a", s.URL+"/b"))
	defer g.Close()
	if err := g.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, a := range Read(t.Context(), g, func(e *Endpoint, _ []byte) (int, error) {
		if strings.HasSuffix(e.String(), "/a") {
			panic("a")
		}
		return 1, nil
	}) {
		if bad := strings.HasSuffix(a.Endpoint.String(), "/a"); bad != errors.Is(a.Err, foreign.ErrUnreadable) || !bad && a.Err == nil && a.Value != 1 {
			t.Errorf("%s: %d, %v", a.Endpoint, a.Value, a.Err)
		}
	}
}

// FuzzParse: whatever an endpoint sends, it is families, or an error of one line.
func FuzzParse(f *testing.F) {
	for _, text := range hostile {
		f.Add([]byte(text))
	}
	f.Add([]byte("# HELP jobs j\n# TYPE jobs histogram\njobs_bucket{le=\"0.1\",a=\"b\"} 1\njobs_bucket{le=\"+Inf\"} 2\njobs_sum 3\njobs_count 2\n"))
	f.Add([]byte("# TYPE jobs summary\njobs{quantile=\"0.5\"} 1 1700000000000\njobs_sum 1\njobs_count 1\n{\"jobs\",a=\"b\"} 1\n"))
	f.Fuzz(func(t *testing.T, exposition []byte) {
		found, err := Parse(exposition, isJobs)
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("the error has several lines: %q", err)
		}
		for name := range found {
			for _, m := range found[name].GetMetric() {
				Value(m)
				hasLabels(m, nil)
			}
		}
		_, _ = Largest(exposition, "jobs")
	})
}
