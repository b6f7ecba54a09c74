package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"

	"assay.dev/assay/internal/crash"
	"assay.dev/assay/internal/doctor"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/observe/collect"
	"assay.dev/assay/internal/observe/collect/databases"
	"assay.dev/assay/internal/observe/collect/gauge"
	"assay.dev/assay/internal/observe/collect/host"
	"assay.dev/assay/internal/observe/collect/neighbour"
	"assay.dev/assay/internal/observe/collect/scrape"
	"assay.dev/assay/internal/observe/collect/service"
	"assay.dev/assay/internal/observe/collect/service/endpoints"
	"assay.dev/assay/internal/observe/collect/stubs"
	"assay.dev/assay/internal/observe/database"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
)

// measuring is an opened run whose collectors run.
type measuring struct {
	*opened
	collect  *collection // nil: not started
	service  *service.Collector
	stubs    []*stubs.Collector
	database databases.Collector // nil: none
}

// measure starts the collectors. One that cannot start is a limitation of the run.
func (m *measuring) measure(ctx context.Context) {
	m.collect = newCollection(ctx, m.numbered)
	begin := func(what string, c collect.Collector) {
		if err := m.collect.begin(ctx, c); err != nil {
			m.note(what + err.Error())
		}
	}
	begin("", host.New(m.processes(ctx), m.Target))
	begin("", m.in.delays)
	m.service = service.New(doctor.MetricsOf(m.Target), targetHost(m.Target))
	var instances scrape.Instances // lists the instances of a service that has several
	if !m.found.HasWarning(doctor.CheckInstances) {
		instances = m.instances()
	}
	switch {
	case instances != nil:
		m.service = service.NewOf(instances)
	case m.TargetService != nil && !m.found.HasWarning(doctor.CheckInstances):
		m.note("the service's metrics are those of one instance at a time: its pods serve HTTPS")
	}
	begin("no service metrics are scraped: ", m.service)
	for _, gauges := range gauge.New(gauge.Options{
		Run: m.ID, Profile: m.Profile, Database: m.DSN, Readers: m.Readers,
		Service: doctor.MetricsOf(m.Target), Instances: instances, Hosts: slices.Concat([]string{targetHost(m.Target)}, m.File.Targets, m.AllowHosts),
	}) {
		begin("no "+gauges.Source()+": ", gauges)
	}
	if neighbours := neighbour.New(m.Profile.Abort); neighbours != nil {
		begin("no "+neighbours.Source()+": ", neighbours)
	}
	var err error
	if m.stubs, err = m.stubCollectors(); err != nil { // the preflight has reached them
		for name := range m.Profile.Stubs {
			m.collect.absent(metric.StubSource(name), err.Error())
		}
		m.note(err.Error())
	}
	for _, s := range m.stubs {
		begin("", s)
	}
	waits := m.waits(ctx)
	if waits == nil {
		m.collect.absent(metric.SourceDatabase, "no database was named")
		return
	}
	// A warning of the doctor has been reported already.
	if err := m.collect.begin(ctx, waits); err != nil && !m.found.HasWarning(doctor.CheckWaits) {
		m.note("no waits: " + database.Line(err.Error()))
	}
}

// waits is the collector of the database's waits; nil: none.
func (m *measuring) waits(ctx context.Context) collect.Collector {
	if m.DSN != "" {
		m.database = databases.New(m.DSN) // with Insights, only to describe the database
	}
	switch {
	case m.Insights != nil:
		// The collector waits for points that are published late, unless the run was
		// interrupted or never began.
		var interrupted context.Context
		interrupted, m.collect.stopWaiting = context.WithCancel(ctx)
		return m.Insights.Collector(interrupted)
	case m.database != nil:
		return m.database
	}
	return nil
}

// processes returns a function for the pids, by name, of the processes whose CPU and
// memory are measured separately: the parts of the system under test on this host, and
// the workers on it that have started k6.
func (m *measuring) processes(ctx context.Context) func() map[string]int {
	system := map[string]int{}
	for name, address := range addresses(m.Target, m.DSN) {
		node, port, err := net.SplitHostPort(address)
		number, bad := strconv.Atoi(port)
		if err != nil || bad != nil || !host.IsLocal(ctx, node) {
			continue
		}
		if pid, ok := host.Listener(ctx, node, number); ok {
			system[name] = pid
		}
	}
	here := host.Namespace()
	return func() map[string]int {
		all := m.crew.coordinator.PIDs(here)
		maps.Copy(all, system)
		return all
	}
}

// unguarded is why an abort condition cannot be watched: a source has failed since the
// preflight. The run is not begun without what protects others from it.
func (m *measuring) unguarded() error {
	for _, a := range m.Profile.Abort {
		if a.OfLoad() {
			continue
		}
		if err := m.collect.failed(a.Source()); err != nil {
			return hint.With(fmt.Errorf("the abort condition %s %s cannot be watched: %w", a.Metric, a.Expression, err),
				cmp.Or(hint.Of(err), "mend it, or remove the condition: an abort that cannot see protects nobody"))
		}
	}
	return nil
}

// environment describes the machine, the service and the database of the run.
func (m *measuring) environment(ctx context.Context) record.Environment {
	e := record.Environment{Schema: "assay/environment/v1", Host: host.Describe(), Workers: m.workerHosts(), Service: m.service.Describe()}
	e.CoLocation = []string{}
	if slices.ContainsFunc(e.Workers, func(w record.WorkerHost) bool { return w.Local }) {
		e.CoLocation = coLocated(ctx, m.Target, m.DSN)
	}
	shares, err := sharesNode(ctx, m.TargetService, e.Workers)
	if err != nil {
		m.note(err.Error())
	}
	if shares && !slices.Contains(e.CoLocation, metric.SourceService) {
		e.CoLocation = append([]string{metric.SourceService}, e.CoLocation...)
	}
	if m.database != nil {
		if d, err := m.database.Describe(ctx); err == nil {
			e.Database = &d
		} else {
			m.note(err.Error())
		}
		if m.Insights != nil {
			_ = m.database.Close() // it has switched no instruments on
		}
	}
	return e
}

// workerHosts describes where the workers run.
func (m *measuring) workerHosts() (all []record.WorkerHost) {
	here := host.Boot()
	for i, h := range m.crew.joined {
		w := h.Machine
		all = append(all, record.WorkerHost{
			Source: metric.WorkerSource(i), Share: m.plan.Workers[i].Share, Local: w.Boot == here && here != "", Pod: w.Pod, Node: w.Node,
			Host: record.Host{Name: w.Name, OS: w.OS, Kernel: w.Kernel, CPU: w.CPU, CPUs: w.CPUs, Memory: w.Memory},
		})
	}
	return all
}

// sharesNode reports whether a worker runs on a node of the cluster on which the service
// runs too; nil: the service runs in none.
func sharesNode(ctx context.Context, of *endpoints.Service, workers []record.WorkerHost) (bool, error) {
	if of == nil {
		return false, nil
	}
	nodes, err := of.Nodes(ctx)
	return slices.ContainsFunc(workers, func(w record.WorkerHost) bool { return slices.Contains(nodes, w.Node) }), err
}

func targetHost(target string) string {
	u, err := url.Parse(target)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// addresses returns the host:port of the service and of the database; an empty one
// for a database behind a Unix socket of this machine.
func addresses(target, dsn string) map[string]string {
	all := map[string]string{}
	if u, err := url.Parse(target); err == nil {
		all[metric.SourceService] = net.JoinHostPort(u.Hostname(), doctor.Port(u))
	}
	if named, err := databases.Parse(dsn); err == nil {
		all[metric.SourceDatabase] = named.Address
	}
	return all
}

// coLocated lists the parts of the system under test on the generator's host: those
// reached by an address of this host.
func coLocated(ctx context.Context, target, dsn string) []string {
	shared := []string{}
	all := addresses(target, dsn)
	for _, name := range []string{metric.SourceService, metric.SourceDatabase} {
		address, known := all[name]
		node, _, err := net.SplitHostPort(address)
		if err == nil && host.IsLocal(ctx, node) || known && address == "" {
			shared = append(shared, name)
		}
	}
	return shared
}

// undo stops the collectors, restores what they changed, ends the workers, and closes the view.
// No record will have what the collectors note.
func (m *measuring) undo() error {
	m.crew.coordinator.Refuse(errNotStarted)
	var errs []error
	if m.collect != nil {
		m.collect.stopWaiting()
		for _, text := range m.collect.stop().notes {
			errs = append(errs, errors.New(text))
		}
	}
	errs = append(errs, m.crew.close())
	m.in.view.close()
	return errors.Join(errs...)
}

// collection is the collectors of a run.
type collection struct {
	sink        collect.Sink
	context     context.Context // context of all members, until stop
	cancel      context.CancelFunc
	stopWaiting context.CancelFunc // ends the wait for late data
	running     crash.Group
	members     []*member
	states      []record.Collect // states of sources without a collector
}

type member struct {
	collect.Collector
	err     error // why Run ended
	started error // why it did not start; nil: it did
}

// collected is the final state of each collector, and notes for the record.
type collected struct {
	states []record.Collect
	notes  []string
}

// newCollection is a collection without members, which send what they measure to sink. Only
// stop ends them, and not that ctx is done.
func newCollection(ctx context.Context, sink collect.Sink) *collection {
	c := &collection{sink: sink, stopWaiting: func() {}}
	c.context, c.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return c
}

// begin starts a collector, which then runs until the collection is stopped. If it cannot
// start, or fails later, the run continues without it, and the record says so.
func (c *collection) begin(ctx context.Context, collector collect.Collector) error {
	m := &member{Collector: collector}
	c.members = append(c.members, m)
	if m.started = crash.Call(func() error { return collector.Start(ctx) }); m.started != nil {
		m.err = m.started
		return m.err
	}
	c.running.Go(func() { m.err = crash.Call(func() error { return m.Run(c.context, c.sink) }) })
	return nil
}

// failed returns why the collector of a source did not start; nil if it did. There may be
// none.
func (c *collection) failed(source string) error {
	for _, m := range c.members {
		if m.Source() == source {
			return m.started
		}
	}
	return errors.New("there is nothing to read it from")
}

// absent records a source that was not requested.
func (c *collection) absent(source, reason string) {
	c.states = append(c.states, record.Collect{Source: source, State: record.StateAbsent, Reason: reason})
}

// stop ends the collectors, restores what they changed, and returns how each ended.
func (c *collection) stop() (done collected) {
	c.cancel()
	c.running.Wait()
	done.states = c.states
	for _, m := range c.members {
		state := record.Collect{Source: m.Source(), State: record.StateOK}
		switch {
		case errors.Is(m.err, service.ErrAbsent):
			state.State, state.Reason = record.StateAbsent, m.err.Error()
		case m.err != nil:
			state.State, state.Reason = record.StateFailed, m.err.Error()
		}
		if err := crash.Call(m.Close); err != nil {
			done.notes = append(done.notes, fmt.Sprintf("%s: not restored: %v", m.Source(), err))
		}
		if noted, ok := m.Collector.(interface{ Notes() []string }); ok {
			done.notes = append(done.notes, noted.Notes()...)
		}
		done.states = append(done.states, state)
	}
	return done
}
