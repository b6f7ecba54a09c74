package scrape

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/observe/collect"
	"assay.dev/assay/internal/observe/metric"
)

const (
	// timeout bounds a scrape; a promhttp endpoint takes a few milliseconds.
	timeout = 800 * time.Millisecond
	// maxBody bounds what one scrape reads; a large service exposes about 200 kB.
	maxBody = 4 << 20
)

// Endpoint is one endpoint. It is safe for concurrent use.
type Endpoint struct {
	url     string
	public  string // the URL without a password
	refused error  // why the URL may not be called
	client  *http.Client
}

// New returns the endpoint at a URL such as http://127.0.0.1:8080/metrics. Its host must
// be a loopback address or one of hosts, to which the run may send load, because a run
// must not call any other system. For another host Err and Fetch return an error.
func New(endpoint string, hosts ...string) *Endpoint {
	e := &Endpoint{url: endpoint}
	u, err := url.Parse(endpoint)
	switch {
	case err != nil:
		// The error of the parser could contain a part of the password.
		e.refused = errors.New("URL of metrics: want http://HOST:PORT/metrics, with the special characters of a password percent-encoded (%XX)")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		e.refused = fmt.Errorf("metrics at %q: want http://HOST:PORT/metrics", u.Redacted())
	case !collect.IsLoopback(u.Hostname()) && !slices.Contains(hosts, u.Hostname()):
		e.refused = fmt.Errorf("metrics at %q: neither loopback nor the target's host", u.Redacted())
	default:
		e.public = u.Redacted()
	}
	e.client, _ = collect.Client(timeout)
	e.client.Timeout = timeout
	return e
}

// Trusted returns the endpoint at a URL whose host needs no permission of its own: that of a
// listed instance, to which the target forwards the load, or one that the profile names and
// that gets none.
func Trusted(raw string) *Endpoint {
	if u, err := url.Parse(raw); err == nil {
		return New(raw, u.Hostname())
	}
	return New(raw)
}

// Err returns why the endpoint may not be called; nil if it may.
func (e *Endpoint) Err() error { return e.refused }

// String returns the URL without a password.
func (e *Endpoint) String() string { return e.public }

// Fetch reads the exposition.
func (e *Endpoint) Fetch(ctx context.Context) ([]byte, error) {
	if e.refused != nil {
		return nil, e.refused
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.url, nil)
	if err != nil {
		return nil, fmt.Errorf("scrape metrics: %w", err)
	}
	req.Header.Set("Accept", "text/plain;version=0.0.4")
	resp, err := e.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("scrape metrics: %w", foreign.Line(err))
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("scrape metrics: %s answers %s", e.public, foreign.Status(resp))
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err != nil {
		return nil, fmt.Errorf("scrape metrics: %w", foreign.Line(err))
	}
	if len(body) > maxBody {
		return nil, fmt.Errorf("scrape metrics: %s sends more than %d bytes", e.public, maxBody)
	}
	return body, nil
}

func (e *Endpoint) Close() { e.client.CloseIdleConnections() }

// Families holds the metric families of an exposition by name.
type Families map[string]*dto.MetricFamily

// maxLines bounds the lines of wanted families, and so the memory that they take, about 500
// bytes each. A histogram of 100 routes with 70 buckets each has 7,000.
const maxLines = 50_000

// maxError bounds what an error says, bytes: it quotes the exposition.
const maxError = 300

// Parse reads the families whose names are wanted. It parses only their lines, because
// parsing everything would cost the generator's host too much CPU. It is the only parser of
// expositions: whatever it is given, it returns families or an error of one line.
func Parse(exposition []byte, wanted func(family string) bool) (Families, error) {
	families, err := parse(exposition, wanted)
	switch {
	case errors.Is(err, foreign.ErrUnreadable):
		return nil, fmt.Errorf("scrape metrics: %w", err)
	case err != nil:
		return nil, errors.New("scrape metrics: " + mask.Line(err.Error(), maxError))
	}
	return families, nil
}

func parse(exposition []byte, wanted func(family string) bool) (_ Families, err error) {
	defer foreign.Guard(&err) // expfmt v0.70 panics, for example at a TYPE and a name in quotes
	var lines strings.Builder
	n := 0
	for line := range strings.Lines(string(exposition)) {
		if !isWanted(line, wanted) {
			continue
		}
		if n++; n > maxLines {
			return nil, fmt.Errorf("more than %d lines of the metrics that are read", maxLines)
		}
		lines.WriteString(line)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return parser.TextToMetricFamilies(strings.NewReader(lines.String()))
}

// isWanted reports whether a line belongs to a wanted family: a sample, a bucket, a sum or
// count, or its HELP or TYPE.
func isWanted(line string, wanted func(family string) bool) bool {
	name := strings.TrimPrefix(strings.TrimPrefix(line, "# HELP "), "# TYPE ")
	if quoted, ok := strings.CutPrefix(strings.TrimPrefix(name, "{"), `"`); ok { // a name of Prometheus 3, such as with dots
		name, _, _ = strings.Cut(quoted, `"`)
	} else if end := strings.IndexAny(name, "{ \n"); end >= 0 {
		name = name[:end]
	}
	return wanted(name) || wanted(strings.TrimSuffix(name, "_sum")) || wanted(strings.TrimSuffix(name, "_count")) || wanted(strings.TrimSuffix(name, "_bucket"))
}

// maxPlausible is above any value of a service's metric, in its base unit or in ns. A count
// that an exposition gives as negative or not as a number becomes larger, too.
const maxPlausible = 1e18

// Plausible reports whether a value can be that of a counter, or of a gauge of something that
// a service has: a number, neither negative nor beyond anything that can be counted.
func Plausible(v float64) bool { return v >= 0 && v <= maxPlausible }

// Value returns the value of a counter, a gauge or a metric without a type; false for
// others.
func Value(m *dto.Metric) (float64, bool) {
	switch {
	case m.Counter != nil:
		return m.GetCounter().GetValue(), true
	case m.Gauge != nil:
		return m.GetGauge().GetValue(), true
	case m.Untyped != nil:
		return m.GetUntyped().GetValue(), true
	}
	return 0, false
}

// noMetricError means that an exposition has no value of a metric.
type noMetricError struct{ metric string }

func (e *noMetricError) Error() string { return "no metric " + e.metric }

// Largest returns the largest value of all series of a metric that have these labels; NaN
// if one of them is NaN.
func Largest(exposition []byte, name string, labels ...metric.Label) (float64, error) {
	families, err := Parse(exposition, func(family string) bool { return family == name })
	if err != nil {
		return 0, err
	}
	largest := math.Inf(-1)
	for _, m := range families[name].GetMetric() {
		if v, ok := Value(m); ok && hasLabels(m, labels) {
			largest = max(largest, v)
		}
	}
	if math.IsInf(largest, -1) {
		return 0, &noMetricError{metric.Series{Name: name, Labels: labels}.Key()}
	}
	return largest, nil
}

// Labels returns the labels of a metric.
func Labels(m *dto.Metric) map[string]string {
	labels := make(map[string]string, len(m.GetLabel()))
	for _, l := range m.GetLabel() {
		labels[l.GetName()] = l.GetValue()
	}
	return labels
}

func hasLabels(m *dto.Metric, labels []metric.Label) bool {
	found := Labels(m)
	return !slices.ContainsFunc(labels, func(l metric.Label) bool { return found[l.Key] != l.Value })
}
