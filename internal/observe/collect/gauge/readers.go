package gauge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"time"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/observe/collect"
	"assay.dev/assay/internal/observe/collect/databases"
	"assay.dev/assay/internal/observe/collect/scrape"
	"assay.dev/assay/internal/observe/database"
	"assay.dev/assay/internal/observe/kafka"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
)

// binlogReader is the lag of a reader of the binlog.
func (o Options) binlogReader() []*polledGauge {
	return o.lag(o.Profile.Reader, metric.BinlogReaderLag, "lag of the binlog reader", lagPeriod)
}

// persistLag is the persist lag while the run goes on, of the first flow that says where it is
// read. It is read once a second: the query may cost the database something, and nothing is
// decided by it.
func (o Options) persistLag() []*polledGauge {
	i := slices.IndexFunc(o.Profile.Flows, func(f spec.Flow) bool { return f.Ledger != nil && f.Ledger.Lag != nil })
	if i < 0 {
		return nil
	}
	return o.lag(o.Profile.Flows[i].Ledger.Lag, metric.PersistLagNow, "persist lag", time.Second)
}

// lag is a lag that the profile says where to read; none if it does not.
func (o Options) lag(lag *spec.Lag, name, text string, period time.Duration) []*polledGauge {
	if lag == nil {
		return nil
	}
	g := &polledGauge{series: metric.Of(name), name: text, period: period}
	if lag.SQL != "" {
		g.reader, g.located = &query{dsn: o.Database, text: lag.SQL, run: o.Run}, o.Database != ""
		return []*polledGauge{g}
	}
	e := o.scraped(lag.Metric, lag.URL)
	if lag.Unit == spec.UnitSeconds {
		e.scale = 1000
	}
	g.reader, g.located = e, o.located(lag.URL)
	return []*polledGauge{g}
}

var errNoLag = errors.New("the query returns no lag")

// query reads a lag from the database. Each ? of its text is the run id.
type query struct {
	dsn, text, run string
	db             database.Store
}

func (q *query) open(context.Context) (err error) {
	if q.dsn == "" {
		return hint.With(errors.New("it is read by SQL, but no database is named"), "set ASSAY_DB to its DSN")
	}
	q.db, err = databases.Open(q.dsn)
	return err
}

func (q *query) read(ctx context.Context) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	ms, found, err := q.db.Number(ctx, q.text, q.run)
	if err == nil && !found {
		err = errNoLag
	}
	return ms, err
}

func (q *query) close() {
	if q.db != nil {
		_ = q.db.Close()
	}
}

const (
	// consumerPeriod is the time between readings: two per second, so that a second still
	// has a value if one fails.
	consumerPeriod = 500 * time.Millisecond
	// consumerTimeout bounds the check of topic and group.
	consumerTimeout = 5 * time.Second
)

// consumerLag is the lag of a consumer group that the profile names.
func (o Options) consumerLag() []*polledGauge {
	c := o.Profile.Consumer
	if c == nil {
		return nil
	}
	return []*polledGauge{{
		reader: &consumer{brokers: c.Brokers, group: c.Group, topic: c.Topic, hosts: o.Hosts}, series: metric.Of(metric.ConsumerLag),
		name: fmt.Sprintf("lag of the consumer group %s on the topic %s", c.Group, c.Topic), located: true, period: consumerPeriod,
	}}
}

// consumer reads the lag of a consumer group in messages.
type consumer struct {
	brokers      []string
	group, topic string
	hosts        []string     // hosts that the profile's brokers may be on, in addition to loopback
	lag          *kafka.Group // nil before open
}

func (c *consumer) open(ctx context.Context) error {
	access, err := kafka.FromEnvironment()
	if err != nil {
		return err
	}
	if !access.NamesBroker() { // a broker from the environment is the user's own
		for _, b := range c.brokers {
			if host, _, err := net.SplitHostPort(b); err == nil && !collect.IsLoopback(host) && !slices.Contains(c.hosts, host) { // it gets the user's credentials
				return hint.With(fmt.Errorf("broker %s is neither loopback nor the target's host", b),
					"list the host in \"targets\" of the thresholds file, or name the broker in ASSAY_KAFKA")
			}
		}
	}
	if c.lag, err = kafka.NewGroup(access, c.brokers, c.group, c.topic); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, consumerTimeout)
	defer cancel()
	return c.lag.Check(ctx)
}

func (c *consumer) read(ctx context.Context) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	messages, err := c.lag.Lag(ctx)
	return float64(messages), err
}

func (c *consumer) close() {
	if c.lag != nil {
		c.lag.Close()
	}
}

// scrapePeriod is the time between scrapes of a gauge: two per second, so that a second
// still has a value if one fails. More would be expensive, because each scrape makes the
// service expose all of its metrics.
const scrapePeriod = 500 * time.Millisecond

// named returns the gauges that the profile defines by a metric, sorted by name, then those
// of its abort conditions.
func (o Options) named() (all []*polledGauge) {
	for _, name := range slices.Sorted(maps.Keys(o.Profile.Gauges)) {
		all = append(all, o.exposed(o.Profile.Gauges[name], metric.Of(name), name))
	}
	for _, a := range o.Profile.Abort {
		if a.Gauge != nil {
			all = append(all, o.exposed(*a.Gauge, metric.Of(metric.AbortGauge, metric.LabelCondition, a.Metric), "gauge "+a.Metric))
		}
	}
	return all
}

func (o Options) exposed(g spec.Gauge, series metric.Series, name string) *polledGauge {
	family, labels, _ := g.Selector()
	return &polledGauge{reader: o.scraped(family, g.URL, labels...), series: series, name: name, located: o.located(g.URL), period: scrapePeriod}
}

// lagPeriod is the time between readings of a lag. Five readings per second come close to
// the second's maximum and cost a server almost nothing.
const lagPeriod = 200 * time.Millisecond

func (o Options) replicas() (all []*polledGauge) {
	for _, dsn := range o.Readers {
		parsed, _ := databases.Parse(dsn) // the address identifies a replica, without user and password
		all = append(all, &polledGauge{
			reader: &replica{dsn: dsn, source: o.Database}, series: metric.Of(metric.ReplicaLag, metric.LabelReader, parsed.Address),
			name: "lag of the replica at " + parsed.Address, located: true, period: lagPeriod,
		})
	}
	return all
}

// replica reads the lag of a replica by the driver of its family.
type replica struct {
	dsn, source string
	lag         database.LagReader // nil before open
}

func (r *replica) open(ctx context.Context) error {
	for _, dsn := range []string{r.source, r.dsn} {
		if r.lag = databases.Of(dsn).Replica(r.dsn, r.source); r.lag == nil {
			return hint.With(fmt.Errorf("the lag of %s replicas cannot be read", databases.Of(dsn).Dialect().Name),
				"leave --db-reader and the SLO out: only replicas of MySQL, MariaDB and Aurora MySQL are supported")
		}
	}
	return r.lag.Open(ctx)
}

func (r *replica) read(ctx context.Context) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	return r.lag.Lag(ctx)
}

func (r *replica) close() {
	if r.lag != nil {
		r.lag.Close()
	}
}

// scrapedGauge reads a gauge from a metrics endpoint, or from those of all instances of the
// service.
type scrapedGauge struct {
	group  *scrape.Group
	name   string
	labels []metric.Label
	scale  float64 // from the endpoint's unit to the catalogue's
}

// scraped returns a gauge at a URL; empty: at the service's metrics.
//
// The largest value of several instances counts, as with several series of one endpoint. A sum
// would be wrong for a gauge that every instance reports of something that they share, such as
// a queue in the database or the lag of a binlog reader.
func (o Options) scraped(name, url string, labels ...metric.Label) *scrapedGauge {
	g := &scrapedGauge{name: name, labels: labels, scale: 1}
	if url == "" && o.Instances != nil {
		g.group = scrape.NewGroup(o.Instances)
	} else {
		g.group = scrape.Single(scrape.New(cmp.Or(url, o.Service), o.Hosts...))
	}
	return g
}

// located reports whether it is known where to read a gauge with this URL in the profile.
func (o Options) located(url string) bool { return url != "" || o.Service != "" || o.Instances != nil }

func (e *scrapedGauge) open(ctx context.Context) error { return e.group.Open(ctx) }

func (e *scrapedGauge) read(ctx context.Context) (float64, error) {
	v, err := e.group.Largest(ctx, e.name, e.labels...)
	return v * e.scale, err
}

func (e *scrapedGauge) close() { e.group.Close() }
