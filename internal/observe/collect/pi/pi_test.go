//go:build live

package pi_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/observe/collect/pi"
	"assay.dev/assay/internal/observe/database"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/pitest"
)

// quick returns options with short intervals.
func quick() pi.Options {
	return pi.Options{Timeout: time.Minute, Interval: 100 * time.Millisecond, FinalAfter: time.Hour}
}

// collected runs a collector during a load of this length and returns what it sent.
func collected(t *testing.T, instance pi.Instance, o pi.Options, load time.Duration) (*pi.Collector, *record.Timeline, record.Span, error) {
	t.Helper()
	c := pi.New(instance, o)
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	all := record.NewTimeline()
	ctx, cancel := context.WithTimeout(t.Context(), load)
	defer cancel()
	sequence := uint64(0)
	var span record.Span
	err := c.Run(ctx, func(f metric.Frame) error {
		if sequence++; f.Sequence != sequence || f.Source != "database" {
			t.Errorf("frame %d of %s, want frame %d of database", f.Sequence, f.Source, sequence)
		}
		if sequence == 1 {
			span.From = f.Second
		}
		if !f.Closing {
			span.To = f.Second + 1
		}
		all.Add(f)
		return nil
	})
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	return c, all, span, err
}

// mixed is a load of fractional sessions, which differs between even and odd seconds.
func mixed(second int64) []pitest.Session {
	return []pitest.Session{
		{Event: "wait/io/aurora_redo_log_flush", Statement: "UPDATE account SET balance = ?", Sessions: 1.5},
		{Event: "CPU", Statement: "SELECT * FROM account WHERE id = ?", Sessions: 0.25 * float64(second%2)},
		{Event: "wait/synch/cond/sql/MYSQL_BIN_LOG::COND_done", Statement: "UPDATE account SET balance = ?", Sessions: 0.5},
		{Event: "waiting for handler commit", Statement: "COMMIT", Sessions: 0.25},
		{Event: "wait/synch/no/such/thing", Statement: "COMMIT", Sessions: 0.125},
	}
}

func sum(all *record.Timeline, name string, span record.Span, labels ...string) float64 {
	var selector []metric.Label
	for i := 0; i < len(labels); i += 2 {
		selector = append(selector, metric.Label{Key: labels[i], Value: labels[i+1]})
	}
	v, _ := all.Sum(name, selector, span)
	return v
}

// The sessions of each second and class are those of the API, also if its response has
// several pages.
func TestLoadBecomesSessions(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.05)
	server, instance := insights.Serve(t)
	server.Load, server.Late, server.PageSize = mixed, 500*time.Millisecond, 2
	c, all, span, err := collected(t, instance, quick(), 2*time.Second)
	if err != nil || len(c.Notes()) > 0 {
		t.Fatalf("%v, notes %q", err, c.Notes())
	}
	seconds := float64(span.Seconds())
	if seconds < 2 || sum(all, metric.DBSample, span) != seconds {
		t.Errorf("%g samples of %g seconds", sum(all, metric.DBSample, span), seconds)
	}
	oddSeconds := 0.0
	for second := span.From; second < span.To; second++ {
		oddSeconds += float64(second % 2)
	}
	for _, c := range []struct {
		event, class, inferred string
		want                   float64
	}{
		{"io/aurora_redo_log_flush", "commit", "", 1.5 * seconds},
		{"cpu", "CPU", "", 0.25 * oddSeconds},
		{"synch/cond/sql/MYSQL_BIN_LOG::COND_done", "binlog", "", 0.5 * seconds},
		{"waiting for handler commit", "commit", "true", 0.25 * seconds},
		{"synch/no/such/thing", "other", "", 0.125 * seconds},
	} {
		if got := sum(all, metric.DBSession, span, "event", c.event, "class", c.class, "inferred", c.inferred); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %g session-seconds, want %g", c.event, got, c.want)
		}
	}
	if got, want := sum(all, metric.DBSession, span), 2.375*seconds+0.25*oddSeconds; math.Abs(got-want) > 1e-9 {
		t.Errorf("%g session-seconds in total, want %g", got, want)
	}
	// A session that is active for a second spends 1000 ms in its statement.
	for statement, want := range map[string]float64{"UPDATE account SET balance = ?": 2000, "COMMIT": 375} {
		if got := sum(all, metric.DBStatementTime, span, "statement", statement); math.Abs(got-want*seconds) > 1e-6 {
			t.Errorf("%s: %g ms, want %g", statement, got, want*seconds)
		}
	}
	// Seconds are labelled by their start: only odd ones have load on CPU.
	for second := span.From; second < span.To; second++ {
		one := record.Span{From: second, To: second + 1}
		if got, want := sum(all, metric.DBSession, one, "event", "cpu"), 0.25*float64(second%2); got != want {
			t.Errorf("second %d: %g on CPU, want %g", second, got, want)
		}
	}
	if longest, _ := all.Hist(metric.DBSampleInterval, nil, span).Max(); longest > 1000 {
		t.Errorf("a gap of %g ms", longest)
	}
}

// Load that the API does not split by event is other, so that the total is right.
func TestMoreEventsThanReturned(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.05)
	server, instance := insights.Serve(t)
	server.Load = func(int64) (all []pitest.Session) {
		for i := range 40 {
			all = append(all, pitest.Session{Event: fmt.Sprintf("wait/io/file/%d", i), Statement: fmt.Sprintf("SELECT %d", i), Sessions: 0.5})
		}
		return all
	}
	_, all, span, err := collected(t, instance, quick(), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	seconds := float64(span.Seconds())
	if got := sum(all, metric.DBSession, span); math.Abs(got-20*seconds) > 1e-6 {
		t.Errorf("%g session-seconds, want %g", got, 20*seconds)
	}
	if got := sum(all, metric.DBSession, span, "event", "other"); math.Abs(got-7.5*seconds) > 1e-6 {
		t.Errorf("%g are other, want %g", got, 7.5*seconds)
	}
	if got := sum(all, metric.DBStatementTime, span); math.Abs(got-20_000*seconds) > 1e-3 {
		t.Errorf("%g ms in statements, want %g", got, 20_000*seconds)
	}
}

// The collector waits in bounded time for seconds that are never published, and notes them.
func TestSecondsNeverPublished(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.05)
	server, instance := insights.Serve(t)
	server.Load = mixed
	lost := func(second int64) bool { return second%4 == 1 || second%4 == 2 }
	server.Lost = lost
	o := quick()
	o.Timeout = time.Second
	c, all, span, err := collected(t, instance, o, 4*time.Second)
	if err != nil {
		t.Errorf("%v", err)
	}
	missing, last, longest := int64(0), span.From-1, int64(0)
	for second := span.From; second < span.To; second++ {
		if lost(second) {
			missing++
		}
		if !lost(second) || second == span.To-1 {
			last, longest = second, max(longest, second-last)
		}
	}
	want := fmt.Sprintf("published no load for %d of the run's %d seconds", missing, span.Seconds())
	if got := strings.Join(c.Notes(), "; "); !strings.Contains(got, want) || !strings.Contains(got, "within 1s after its end") {
		t.Errorf("notes %q, want %q", got, want)
	}
	if gap, _ := all.Hist(metric.DBSampleInterval, nil, span).Max(); gap != float64(1000*longest) {
		t.Errorf("the longest gap is %g ms, want %d s", gap, longest)
	}
	if got := sum(all, metric.DBSample, span); got != float64(span.Seconds()-missing) {
		t.Errorf("%g samples of %d seconds, %d of which were never published", got, span.Seconds(), missing)
	}
}

// An interrupted run stops waiting.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.05)
	server, instance := insights.Serve(t)
	server.Load, server.Late = mixed, time.Hour
	o := quick()
	o.Timeout = time.Hour
	interrupted, interrupt := context.WithCancel(t.Context())
	o.Interrupted = interrupted
	time.AfterFunc(1500*time.Millisecond, interrupt)
	c, _, _, err := collected(t, instance, o, time.Second)
	if err != nil || !strings.Contains(strings.Join(c.Notes(), ""), "before the run was interrupted") {
		t.Errorf("%v, notes %q", err, c.Notes())
	}
}

// A throttled request is retried.
func TestThrottled(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.05)
	server, instance := insights.Serve(t)
	server.Load = mixed
	throttled := 0
	server.Refuse = func(call int) (string, int) {
		if call > 1 && call < 4 {
			throttled++
			return "ThrottlingException", http.StatusBadRequest
		}
		return "", 0
	}
	c, all, span, err := collected(t, instance, quick(), time.Second)
	if err != nil || len(c.Notes()) > 0 || throttled != 2 || sum(all, metric.DBSample, span) != float64(span.Seconds()) {
		t.Errorf("%v, notes %q, throttled %d times", err, c.Notes(), throttled)
	}
}

// If credentials expire during a run, only the waits are missing.
func TestExpiredMidRun(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.05)
	server, instance := insights.Serve(t)
	server.Load = mixed
	server.Refuse = func(call int) (string, int) {
		if call > 1 {
			return "ExpiredTokenException", http.StatusBadRequest
		}
		return "", 0
	}
	_, all, span, err := collected(t, instance, quick(), time.Second)
	var known *database.Error
	if !errors.As(err, &known) || known.Problem != "the AWS credentials have expired" || !strings.Contains(known.Remedy, "log in again") {
		t.Errorf("%v", err)
	}
	if _, found := all.Sum(metric.DBSample, nil, span); found {
		t.Error("samples without credentials")
	}
}

// Each error of the API is one line with a hint, at the start of the run.
func TestRefusals(t *testing.T) {
	budget.CPUs(t, 0.3)
	t.Setenv("AWS_MAX_ATTEMPTS", "1") // the SDK would retry some of them for seconds
	for code, c := range map[string]struct {
		status        int
		problem, hint string
	}{
		"ThrottlingException":         {http.StatusBadRequest, "is throttling", "quota"},
		"ExpiredTokenException":       {http.StatusBadRequest, "have expired", "log in again"},
		"UnrecognizedClientException": {http.StatusBadRequest, "UnrecognizedClientException", "get-caller-identity"},
		"InvalidSignatureException":   {http.StatusForbidden, "InvalidSignatureException", "clock"},
		"AccessDeniedException":       {http.StatusBadRequest, "AccessDeniedException", "pi:GetResourceMetrics"},
		"NotAuthorizedException":      {http.StatusBadRequest, "NotAuthorizedException", "must be enabled"},
		"InvalidArgumentException":    {http.StatusBadRequest, "InvalidArgumentException", "DbiResourceId"},
		"InternalServiceError":        {http.StatusInternalServerError, "InternalServiceError", "later"},
	} {
		t.Run(code, func(t *testing.T) {
			server, instance := insights.Serve(t)
			server.Refuse = func(int) (string, int) { return code, c.status }
			err := instance.Examine(t.Context())
			var known *database.Error
			if !errors.As(err, &known) || !strings.Contains(known.Problem, c.problem) || !strings.Contains(known.Remedy, c.hint) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v", err)
			}
		})
	}
}

// Not parallel: it changes the environment, which all tests share.
func TestConnecting(t *testing.T) {
	budget.CPUs(t, 0.3)
	instance := pi.Instance{Resource: pitest.Resource, Region: pitest.Region}
	pitest.Start(t)
	examine := func(instance pi.Instance) (problem, hint string) {
		var known *database.Error
		if err := instance.Examine(t.Context()); !errors.As(err, &known) {
			t.Errorf("%+v: %v", instance, err)
			return "", ""
		}
		return known.Problem, known.Remedy
	}
	if problem, hint := examine(pi.Instance{Resource: "db-OTHER", Region: pitest.Region}); !strings.Contains(problem, "NotAuthorizedException") || !strings.Contains(hint, "db-OTHER") {
		t.Errorf("another resource: %s (%s)", problem, hint)
	}
	if problem, hint := examine(pi.Instance{Resource: pitest.Resource}); problem != "no AWS region is named" || !strings.Contains(hint, "?region=") {
		t.Errorf("no region: %s (%s)", problem, hint)
	}
	t.Run("no credentials", func(t *testing.T) {
		t.Setenv("AWS_ACCESS_KEY_ID", "")
		t.Setenv("AWS_SECRET_ACCESS_KEY", "")
		if problem, hint := examine(instance); problem != "no AWS credentials" || hint == "" {
			t.Errorf("%s (%s)", problem, hint)
		}
	})
	t.Run("no server", func(t *testing.T) {
		t.Setenv("AWS_MAX_ATTEMPTS", "1")
		t.Setenv("AWS_ENDPOINT_URL_PI", "http://127.0.0.1:1")
		if problem, hint := examine(instance); !strings.Contains(problem, "cannot be reached") || hint == "" {
			t.Errorf("%s (%s)", problem, hint)
		}
	})
	for _, endpoint := range []string{"http://pi.test", "http://192.0.2.1:8080", "ftp://127.0.0.1"} {
		t.Run(endpoint, func(t *testing.T) {
			t.Setenv("AWS_ENDPOINT_URL_PI", endpoint)
			if problem, hint := examine(instance); !strings.Contains(problem, "is not https") || hint == "" {
				t.Errorf("%s (%s)", problem, hint)
			}
		})
	}
	t.Run("not the API", func(t *testing.T) {
		other := pitest.Start(t)
		other.Refuse = func(int) (string, int) { return "", 0 }
		t.Setenv("AWS_ENDPOINT_URL_PI", other.URL()+"/elsewhere")
		if problem, hint := examine(instance); !strings.Contains(problem, "UnknownOperationException") {
			t.Errorf("%s (%s)", problem, hint)
		}
	})
}
