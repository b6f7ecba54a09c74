package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"assay.dev/assay/internal/observe/collect"
	"assay.dev/assay/internal/observe/collect/scrape"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
)

// ErrAbsent means that there is no endpoint, or that none has any of the metrics that are
// read. A run continues without service metrics.
var ErrAbsent = errors.New("service metrics absent")

// Collector scrapes the endpoints of all instances of a service, and adds them up.
type Collector struct {
	group     *scrape.Group
	listed    bool // the instances are listed; false: a single one is named
	instances instances
	failing   bool   // an instance did not answer last
	builds    builds // at the start
	notes     collect.Notes
}

var _ collect.Collector = (*Collector)(nil)

// New returns a collector for a service of a single instance, whose endpoint is at a URL
// such as http://127.0.0.1:8080/metrics, on loopback or on one of hosts, such as the run's
// target.
func New(url string, hosts ...string) *Collector {
	return &Collector{group: scrape.Single(scrape.New(url, hosts...)), instances: instances{}}
}

// NewOf returns a collector for a service of several instances. It lists them at its start,
// and then about every 5 s.
func NewOf(list scrape.Instances) *Collector {
	return &Collector{group: scrape.NewGroup(list), listed: true, instances: instances{}}
}

func (c *Collector) Source() string { return metric.SourceService }

// Start reads all endpoints once. Its error is ErrAbsent if none answers, or if none has any
// of the metrics that are read, nor a build.
func (c *Collector) Start(ctx context.Context) error {
	if err := c.group.Err(); err != nil {
		return err
	}
	if err := c.group.Open(ctx); err != nil {
		return fmt.Errorf("%w: %w", ErrAbsent, err)
	}
	var answers []scrape.Answer[scraped]
	err := collect.First(ctx, func(ctx context.Context) error {
		answers = scrape.Read(ctx, c.group, c.parse)
		return noAnswer(answers)
	})
	for _, a := range answers {
		c.builds.add(a.Value.builds)
	}
	if len(c.builds.all) > maxBuilds {
		c.notes.Add("the service reports more than %d builds (*%s), and the others are not recorded; give them no labels that differ between instances", maxBuilds, buildSuffix)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrAbsent, err)
	}
	if slices.ContainsFunc(answers, func(a scrape.Answer[scraped]) bool { return len(a.Value.reading) > 0 }) {
		return nil
	}
	i := slices.IndexFunc(answers, func(a scrape.Answer[scraped]) bool { return a.Err == nil })
	err = fmt.Errorf("%w: %s has none of the supported metrics, such as go_sql_*, %s and OpenTelemetry's http.server.request.duration", ErrAbsent, answers[i].Endpoint, queryDuration)
	if len(c.builds.all) > 0 { // which are read on
		c.notes.Add("%s", err)
		return nil
	}
	return err
}

func noAnswer(answers []scrape.Answer[scraped]) error {
	if len(answers) == 0 {
		return errors.New("the service has no instance that is ready")
	}
	for _, a := range answers {
		if a.Err == nil {
			return nil
		}
	}
	return answers[0].Err
}

func (c *Collector) parse(_ *scrape.Endpoint, exposition []byte) (s scraped, err error) {
	s, err = read(exposition)
	s.other = c.builds.other(s.builds)
	return s, err
}

// Describe returns the builds that the instances have reported at the start; nil if they
// reported none.
func (c *Collector) Describe() *record.Service {
	all := c.builds.all
	if len(all) == 0 {
		return nil
	}
	return &record.Service{Builds: slices.Clone(all[:min(len(all), maxBuilds)])}
}

func (c *Collector) Notes() []string { return c.notes.All() }

// Run scrapes every second until ctx is done. A second in which no instance answered has no
// points but the number of instances, which is then 0. The first answer after that includes
// the increases since the last one.
func (c *Collector) Run(ctx context.Context, sink collect.Sink) error {
	if err := c.group.Err(); err != nil {
		return err
	}
	inner := context.WithoutCancel(ctx) // a scrape is short, so the last one is completed
	c.read(inner)                       // the base of later increases
	return collect.EverySecond(ctx, c.Source(), sink, func() []metric.Point { return c.read(inner) })
}

func (c *Collector) read(ctx context.Context) []metric.Point {
	answers := scrape.Read(ctx, c.group, c.parse)
	c.warn(answers)
	s := c.instances.add(time.Now(), answers)
	if c.group.Left() > 0 {
		s.sum = s.sum.counters() // gauges of some instances are unknown
	}
	c.note(answers, s)
	points := s.sum.points()
	if others := s.others + c.group.Left(); len(c.builds.all) > 0 && s.answered+others > 0 {
		points = append(points, metric.GaugePoint(metric.Of(metric.ServiceOthers), float64(others)))
	}
	if c.listed {
		points = append(points, metric.GaugePoint(metric.Of(metric.ServiceInstances), float64(s.answered)))
	}
	return points
}

func (c *Collector) warn(answers []scrape.Answer[scraped]) {
	var err error
	failed := 0
	for _, a := range answers {
		if a.Err != nil {
			err, failed = a.Err, failed+1
		}
	}
	if (err != nil) == c.failing {
		return
	}
	c.failing = err != nil
	switch {
	case !c.failing:
		slog.Warn("service collector gets metrics again")
	case c.listed:
		slog.Warn(fmt.Sprintf("service collector gets no metrics from %d of %d instances", failed, len(answers)), "err", err)
	default:
		slog.Warn("service collector gets no metrics", "err", err)
	}
}

func (c *Collector) note(answers []scrape.Answer[scraped], s second) {
	if n := c.group.Left(); n > 0 {
		c.notes.Add("service metrics are too low: the service has more than %d instances, and the others are not read; run fewer instances", len(answers))
	}
	if c.listed && s.silent {
		c.notes.Add("service metrics are incomplete: an instance did not answer for more than %v; check that all instances expose them", keepGauges)
	}
	if n := len(c.builds.all); n > 0 && n <= maxBuilds && s.others > 0 {
		c.notes.Add("an instance of the service that was read during the run reported other builds than those at its start, or did not tell them; deploy nothing during a run")
	}
}

func (c *Collector) Close() error {
	c.group.Close()
	return nil
}

// Examine reads all endpoints once, before a run, and lists the metrics of the catalogue that
// at least one of them has. It is called instead of Start. Its error says why none can be
// read.
func (c *Collector) Examine(ctx context.Context) (metrics []string, err error) {
	if err := c.group.Open(ctx); err != nil {
		return nil, err
	}
	var answers []scrape.Answer[scraped]
	err = collect.First(ctx, func(ctx context.Context) error {
		answers = scrape.Read(ctx, c.group, c.parse)
		return noAnswer(answers)
	})
	found := reading{}
	for _, a := range answers {
		found.add(a.Value.reading)
	}
	return slices.Sorted(maps.Keys(found)), err
}

// Pool is a service's pool of database connections at one moment.
type Pool struct {
	Known bool // the exposition has metrics of a pool
	Open  int
	Max   int // 0: no limit
}

// PoolIn finds the pool in an exposition. Several pools are added up.
func PoolIn(exposition []byte) Pool {
	s, err := read(exposition)
	if err != nil {
		return Pool{}
	}
	open, known := s.reading[metric.ServicePoolOpen]
	return Pool{Known: known, Open: int(open), Max: int(s.reading[metric.ServicePoolMax])}
}
