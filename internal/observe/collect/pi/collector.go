package pi

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"assay.dev/assay/internal/observe/collect"
	"assay.dev/assay/internal/observe/collect/sampling"
	"assay.dev/assay/internal/observe/database"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/wait"
)

// Options says how long to wait for points that are published late: the delay is not
// documented, and the console showed them within half a minute. Zero values mean the defaults.
type Options struct {
	// Interrupted is done when the run is interrupted. Waiting then ends, and the points
	// published so far are used. nil: never.
	Interrupted context.Context
	Timeout     time.Duration // after the end of the load
	Interval    time.Duration // between requests
	FinalAfter  time.Duration // age from which points are considered final
}

// Collector collects from one instance.
type Collector struct {
	instance Instance
	options  Options
	api      *api
	notes    collect.Notes
}

var _ collect.Collector = (*Collector)(nil)

// New returns a collector for an instance. It sends no request.
func New(instance Instance, o Options) *Collector {
	if o.Interrupted == nil {
		o.Interrupted = context.Background()
	}
	o.Timeout = cmp.Or(o.Timeout, 2*time.Minute)
	o.Interval = cmp.Or(o.Interval, 5*time.Second)
	o.FinalAfter = cmp.Or(o.FinalAfter, time.Minute)
	return &Collector{instance: instance, options: o}
}

func (c *Collector) Source() string { return metric.SourceDatabase }

// Start finds credentials and tests them with a request for the load of the last minute.
func (c *Collector) Start(ctx context.Context) error {
	api, err := connect(ctx, c.instance)
	if err != nil {
		return err
	}
	now := time.Now()
	if _, err := api.load(ctx, byNothing, now.Add(-time.Minute).Unix(), now.Unix()); err != nil {
		return fmt.Errorf("collect from Performance Insights: %w", err)
	}
	c.api = api
	return nil
}

// Run waits until the load has ended, then for its points, in bounded time, and sends the
// frames of all seconds. Unlike other collectors it does not send during the load, because
// points are final only long after their second.
func (c *Collector) Run(ctx context.Context, sink collect.Sink) error {
	began := time.Now().Unix()
	<-ctx.Done()
	ended := max(time.Now().Unix(), began+1) // the current second has no point yet
	all, err := c.gather(context.WithoutCancel(ctx), began, ended)
	if missing := ended - began - int64(len(all.total)); missing > 0 { // no point lies outside the run
		c.notes.Add("Performance Insights published no load for %d of the run's %d seconds%s", missing, ended-began, c.waited(err))
	}
	if len(all.total) == 0 && err != nil {
		return fmt.Errorf("collect from Performance Insights: %w", err)
	}
	stream := collect.NewStream(c.Source(), sink)
	sendFrames(all, began, ended, stream)
	if closeErr := stream.Close(ended); closeErr != nil {
		return closeErr
	}
	if err != nil {
		return fmt.Errorf("collect from Performance Insights: %w", err)
	}
	return nil
}

func (c *Collector) waited(err error) string {
	switch {
	case err != nil:
		return ""
	case c.options.Interrupted.Err() != nil:
		return " before the run was interrupted"
	}
	return fmt.Sprintf(" within %s after its end", c.options.Timeout)
}

func (c *Collector) Notes() []string { return c.notes.All() }

func (c *Collector) Close() error { return nil }

const scheme = "pi:"

// resourceID matches a DbiResourceId, such as db-ABCDEFGHIJKLMNOPQRSTU1VW2X.
var resourceID = regexp.MustCompile(`^db-[A-Z0-9]{4,60}$`)

// Instance is an instance as the Performance Insights API knows it.
type Instance struct {
	Resource string // DbiResourceId
	Region   string // empty: the region of the AWS environment
}

// Parse reads pi:RESOURCE-ID?region=REGION.
func Parse(text string) (in Instance, err error) {
	bad := func(format string, args ...any) (Instance, error) {
		const example = "use the form pi:db-ABCDEFGHIJKLMNOPQRSTU1VW2X?region=eu-west-1; aws rds describe-db-instances shows the DbiResourceId"
		return Instance{}, &database.Error{Problem: fmt.Sprintf(format, args...), Remedy: example}
	}
	resource, query, _ := strings.Cut(strings.TrimPrefix(text, scheme), "?")
	if !strings.HasPrefix(text, scheme) || !resourceID.MatchString(resource) {
		return bad("%q is not a Performance Insights resource", scheme+resource)
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return bad("malformed query after %s%s", scheme, resource)
	}
	for name := range values {
		if name != "region" {
			return bad("%s%s: unknown parameter %q, only region is allowed", scheme, resource, name)
		}
	}
	in = Instance{resource, values.Get("region")}
	if in.Region != "" && !database.IsRegion(in.Region) {
		return bad("%q is not an AWS region", in.Region)
	}
	return in, nil
}

// String is the form that Parse reads. It contains no secret.
func (in Instance) String() string {
	if in.Region == "" {
		return scheme + in.Resource
	}
	return scheme + in.Resource + "?region=" + in.Region
}

func (Instance) Name() string { return "Performance Insights" }

func (Instance) Rights() string {
	return "check that pi:GetResourceMetrics is allowed, and Performance Insights is enabled"
}

// Examine requests the load of the last minute. It returns the error that a run would have.
func (in Instance) Examine(ctx context.Context) error { return New(in, Options{}).Start(ctx) }

// Collector returns a collector that waits for late points until interrupted is done.
func (in Instance) Collector(interrupted context.Context) collect.Collector {
	return New(in, Options{Interrupted: interrupted})
}

// loads is the published load of a run.
type loads struct {
	total      map[int64]float64 // by second
	waits      []series
	statements []series
}

// span holds the seconds [from, to) of one request, and its last response.
type span struct {
	from, to int64
	waits    []series
	total    map[int64]float64 // by second
	final    bool
}

// gather requests all seconds repeatedly until all are final, or until the timeout. With
// an error it also returns what it has received.
func (c *Collector) gather(ctx context.Context, from, to int64) (all loads, err error) {
	all.total = map[int64]float64{}
	var spans []*span
	for begin := from; begin < to; begin += maxSeconds {
		spans = append(spans, &span{from: begin, to: min(begin+maxSeconds, to)})
	}
	awaited := func(s *span) bool { return !s.final }
	deadline := time.Now().Add(c.options.Timeout)
	for {
		err = c.request(ctx, spans)
		if err != nil || !slices.ContainsFunc(spans, awaited) || c.options.Interrupted.Err() != nil || time.Now().After(deadline) {
			break
		}
		select {
		case <-c.options.Interrupted.Done(): // one more request
		case <-time.After(c.options.Interval):
		}
	}
	for _, s := range spans {
		maps.Copy(all.total, s.total)
		all.waits = append(all.waits, s.waits...)
		if len(s.total) == 0 || err != nil {
			continue // after an error the next request would probably time out too
		}
		var statements []series
		statements, err = c.api.load(ctx, bySQL, s.from, s.to)
		all.statements = append(all.statements, statements...)
	}
	return all, err
}

// request requests the spans that are not final yet. A span is final if it is complete, and
// either old enough or unchanged since the last request.
func (c *Collector) request(ctx context.Context, spans []*span) error {
	for _, s := range spans {
		if s.final {
			continue
		}
		waits, err := c.api.load(ctx, byWait, s.from, s.to)
		if err != nil {
			return err
		}
		before := s.total
		s.waits, s.total = waits, totalOf(waits)
		complete := int64(len(s.total)) == s.to-s.from
		old := time.Since(time.Unix(s.to, 0)) > c.options.FinalAfter
		s.final = complete && (old || maps.Equal(before, s.total))
	}
	return nil
}

// totalOf returns the total load, which is part of every response.
func totalOf(all []series) map[int64]float64 {
	for _, s := range all {
		if len(s.dimensions) == 0 {
			return s.load
		}
	}
	return map[int64]float64{}
}

const msPerSecond = 1000.0

// unknown is load that the API does not split by event.
var unknown = sampling.Session{Event: wait.Other, Class: wait.Other}

// part is the part of the load that has one label. Several members of a group may have the
// same, and the seconds of a member come from several responses.
type part struct {
	key    string
	series metric.Series
	load   map[int64]float64 // by second
	scale  float64           // from sessions to the series' unit
}

// sendFrames sends one frame per second of [from, to). A published second counts as one sample,
// whose number of sessions is the load: an average, which may be fractional.
func sendFrames(all loads, from, to int64, stream *collect.Stream) {
	split := append(waitParts(all), statementParts(all)...)
	last := from - 1
	for at := from; at < to; at++ {
		points := []metric.Point{metric.GaugePoint(metric.Of(metric.DBSampleRate), 1)}
		_, published := all.total[at]
		if published || at == to-1 {
			// The time since the last sample; at the end also without a new sample.
			var interval metric.Hist
			interval.Record(float64(at-last)*msPerSecond, 1)
			points = append(points, metric.HistPoint(metric.Of(metric.DBSampleInterval), &interval))
		}
		samples := 0.0
		if published {
			samples, last = 1, at
			for _, p := range split {
				if v := p.load[at] * p.scale; v > 0 {
					points = append(points, metric.CounterPoint(p.series, v))
				}
			}
		}
		points = append(points, metric.CounterPoint(metric.Of(metric.DBSample), samples))
		stream.Put(at, points)
	}
}

// waitParts returns the sessions by wait event; the remainder of the total is unknown.
func waitParts(all loads) []*part {
	return splitBy(all.total, all.waits, 1, unknown.Series(metric.DBSession), func(s series) (metric.Series, bool) {
		return classify(s.dimensions["db.wait_event.name"]).Series(metric.DBSession), len(s.dimensions) > 0
	})
}

// statementParts returns the time in statements: a session that is active for one second
// spends that second in its statement.
func statementParts(all loads) []*part {
	if len(all.statements) == 0 {
		return nil
	}
	labels := map[string]bool{}
	other := metric.Of(metric.DBStatementTime, "digest", sampling.Other)
	return splitBy(all.total, byLoad(all.statements), msPerSecond, other, func(s series) (of metric.Series, ok bool) {
		digest := cmp.Or(s.dimensions["db.sql_tokenized.db_id"], s.dimensions["db.sql_tokenized.id"])
		if digest == "" || len(labels) >= sampling.MaxDigests {
			return of, false
		}
		text := sampling.Shorten(database.WithoutLiterals(s.dimensions["db.sql_tokenized.statement"]))
		of = metric.Of(metric.DBStatementTime, "digest", digest[:min(len(digest), sampling.DigestDigits)], "statement", text)
		labels[of.Key()] = true
		return of, true
	})
}

// splitBy splits the total load by the labels of series, sorted by key. rest is the part that
// has none; below a limit, in sessions, it is a rounding error.
func splitBy(total map[int64]float64, all []series, scale float64, rest metric.Series, label func(series) (metric.Series, bool)) []*part {
	const negligible = 1e-6
	parts, left := map[string]*part{}, maps.Clone(total)
	add := func(of metric.Series, load map[int64]float64) {
		key := of.Key()
		if parts[key] == nil {
			parts[key] = &part{key, of, map[int64]float64{}, scale}
		}
		for at, v := range load {
			parts[key].load[at] += v
		}
	}
	for _, s := range all {
		of, ok := label(s)
		if !ok {
			continue
		}
		add(of, s.load)
		for at, v := range s.load {
			if left[at] -= v; left[at] < negligible {
				left[at] = 0
			}
		}
	}
	add(rest, left)
	return slices.SortedFunc(maps.Values(parts), func(a, b *part) int { return strings.Compare(a.key, b.key) })
}

// classify returns the class of a wait event. For an instance without performance_schema
// the API returns session states instead, from which the class is inferred.
func classify(name string) sampling.Session {
	event := strings.TrimPrefix(name, "wait/")
	switch {
	case strings.EqualFold(event, "CPU"):
		return sampling.Session{Event: "cpu", Class: wait.CPU}
	case event == "":
		return unknown
	}
	for _, server := range wait.Servers() {
		if class := wait.ClassOf(server, event); class != wait.Other {
			return sampling.Session{Event: event, Class: class}
		}
	}
	class, inferred := wait.ClassOfState(wait.MySQL, event)
	return sampling.Session{Event: event, Class: cmp.Or(class, wait.Other), Inferred: inferred}
}

// byLoad returns the series sorted by total load, the largest first.
func byLoad(all []series) []series {
	sum := func(s series) (total float64) {
		for _, v := range s.load {
			total += v
		}
		return total
	}
	return slices.SortedStableFunc(slices.Values(all), func(a, b series) int { return cmp.Compare(sum(b), sum(a)) })
}
