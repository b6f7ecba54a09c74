package run

import (
	"context"
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"

	"assay.dev/assay/internal/doctor"
	"assay.dev/assay/internal/observe/collect"
	"assay.dev/assay/internal/observe/collect/databases"
	"assay.dev/assay/internal/observe/collect/gauge"
	"assay.dev/assay/internal/observe/collect/host"
	"assay.dev/assay/internal/observe/collect/neighbour"
	"assay.dev/assay/internal/observe/collect/pi"
	"assay.dev/assay/internal/observe/collect/scrape"
	"assay.dev/assay/internal/observe/collect/service"
	"assay.dev/assay/internal/observe/database"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
)

// startCollectors starts the collectors. One that cannot start is a limitation of
// the run.
func (r *run) startCollectors(ctx context.Context) {
	// Collectors are stopped by collection.stop, not when ctx is done.
	c := &collection{stopWaiting: func() {}}
	r.collect = c
	var running context.Context
	running, c.cancel = context.WithCancel(context.WithoutCancel(ctx))
	if err := c.begin(ctx, running, host.New(r.processes(ctx), r.Target), r.numbered); err != nil {
		r.note(err.Error())
	}
	if err := c.begin(ctx, running, r.delays, r.numbered); err != nil {
		r.note(err.Error())
	}
	r.service = service.New(doctor.MetricsOf(r.Target), targetHost(r.Target))
	var instances scrape.Instances // of a service that has several
	if !r.found.HasWarning(doctor.CheckInstances) {
		instances = r.instances()
	}
	switch {
	case instances != nil:
		r.service = service.NewOf(instances)
	case r.TargetService != nil && !r.found.HasWarning(doctor.CheckInstances):
		r.note("the service's metrics are those of one instance at a time: its pods serve HTTPS")
	}
	if err := c.begin(ctx, running, r.service, r.numbered); err != nil {
		r.note("no service metrics are scraped: " + err.Error())
	}
	for _, gauges := range gauge.New(gauge.Options{
		Run: r.ID, Profile: r.Profile, Database: r.DSN, Readers: r.Readers,
		Service: doctor.MetricsOf(r.Target), Instances: instances, Hosts: slices.Concat([]string{targetHost(r.Target)}, r.File.Targets, r.AllowHosts),
	}) {
		if err := c.begin(ctx, running, gauges, r.numbered); err != nil {
			r.note("no " + gauges.Source() + ": " + err.Error())
		}
	}
	if neighbours := neighbour.New(r.Profile.Abort); neighbours != nil {
		if err := c.begin(ctx, running, neighbours, r.numbered); err != nil {
			r.note("no " + neighbours.Source() + ": " + err.Error())
		}
	}
	r.startStubs(ctx, running, c)
	waits := r.waits(ctx)
	if waits == nil {
		c.absent(metric.SourceDatabase, "no database was named")
		return
	}
	// A warning of the doctor has been reported already.
	if err := c.begin(ctx, running, waits, r.numbered); err != nil && !r.found.HasWarning(doctor.CheckWaits) {
		r.note("no waits: " + database.Line(err.Error()))
	}
}

// waits is the collector of the database's waits; nil: none.
func (r *run) waits(ctx context.Context) collect.Collector {
	if r.DSN != "" {
		r.database = databases.New(r.DSN) // with Insights, only to describe the database
	}
	switch {
	case r.Insights != nil:
		// The collector waits for points that are published late, unless the run was
		// interrupted or never began.
		var interrupted context.Context
		interrupted, r.collect.stopWaiting = context.WithCancel(ctx)
		return pi.New(*r.Insights, pi.Options{Interrupted: interrupted})
	case r.database != nil:
		return r.database
	}
	return nil
}

// processes returns a function for the pids, by name, of the processes whose CPU and
// memory are measured separately: the parts of the system under test on this host, and
// the workers on it that have started k6.
func (r *run) processes(ctx context.Context) func() map[string]int {
	system := map[string]int{}
	for name, address := range addresses(r.Target, r.DSN) {
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
		all := r.coordinator.PIDs(here)
		maps.Copy(all, system)
		return all
	}
}

func targetHost(target string) string {
	u, err := url.Parse(target)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// sharesNode reports whether a worker runs on a node of the cluster on which the service
// runs too.
func (r *run) sharesNode(ctx context.Context, workers []record.WorkerHost) bool {
	if r.TargetService == nil {
		return false
	}
	nodes, err := r.TargetService.Nodes(ctx)
	if err != nil {
		r.note(err.Error())
	}
	return slices.ContainsFunc(workers, func(w record.WorkerHost) bool { return slices.Contains(nodes, w.Node) })
}

// environment describes the machine, the service and the database of the run.
func (r *run) environment(ctx context.Context) record.Environment {
	e := record.Environment{Schema: "assay/environment/v1", Host: host.Describe(), Workers: r.workerHosts(), Service: r.service.Describe()}
	e.CoLocation = []string{}
	if slices.ContainsFunc(e.Workers, func(w record.WorkerHost) bool { return w.Local }) {
		e.CoLocation = coLocated(ctx, r.Target, r.DSN)
	}
	if r.sharesNode(ctx, e.Workers) && !slices.Contains(e.CoLocation, metric.SourceService) {
		e.CoLocation = append([]string{metric.SourceService}, e.CoLocation...)
	}
	if r.database != nil {
		if d, err := r.database.Describe(ctx); err == nil {
			e.Database = &d
		} else {
			r.note(err.Error())
		}
		if r.Insights != nil {
			_ = r.database.Close() // it has switched no instruments on
		}
	}
	return e
}
