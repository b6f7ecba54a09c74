package doctor

import (
	"cmp"
	"context"
	"fmt"
	"net/url"

	"assay.dev/assay/internal/crash"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/load/fleet"
	"assay.dev/assay/internal/observe/collect/databases"
	"assay.dev/assay/internal/observe/collect/host"
	"assay.dev/assay/internal/observe/collect/scrape"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/spec"
)

// Subject is what to check, and for which runs.
type Subject struct {
	File       spec.File
	Loads      []Load // profiles to run, one after the other; none: check what every run needs
	Run        string // run id, without rows in the database
	Seed       uint64
	Dir        string // folder of the record, or of several
	EmptyDir   bool   // Dir becomes a run folder, and must be empty or missing
	Target     string // empty: none yet
	AllowHosts []string
	DSN        string          // empty: none
	Nodes      string          // ASSAY_DB_NODES; empty: none
	Insights   databases.Waits // source of the waits; nil: the database itself
	Readers    []string        // DSNs of replicas whose lag is watched
	Influx     Influx          // empty URL: not checked; a run checks it itself when it begins to write
	Remote     bool            // workers run on other machines
	// Instances lists the instances of the service behind Target, in a cluster; nil: not known.
	Instances  scrape.Instances
	Service    string // its NAMESPACE/NAME there
	Executable string // this program, which initialises scripts as k6
}

// Influx is the InfluxDB of the view.
type Influx struct {
	URL   string
	Token string
}

// Machine checks this machine only: it returns at once, and sends nothing.
func Machine(s Subject) Findings {
	var all Findings
	for _, l := range s.Loads {
		f := pass(CheckPlan, SizeOf(l).String(), "")
		f.Profile = l.Profile.Name
		all = append(all, f)
	}
	if s.EmptyDir {
		if err := record.CheckEmpty(s.Dir); err != nil {
			return append(all, fail(CheckFolder, reason(err), "an empty folder", err.Error(), "name another folder with --out"))
		}
	}
	m, f, need := host.ReadLimits(), ExamineFolder(s.Dir), sizes(s.Loads)
	if s.Remote { // each worker's machine is checked when it joins
		return append(all, descriptors(m.Descriptors, coordinators(need)), folder(f), disk(f, need))
	}
	return append(all, descriptors(m.Descriptors, need), memory(m.Memory, need), cpus(m.CPUs, need), folder(f), disk(f, need))
}

// External checks the systems that the run would talk to, and its scripts. It examines
// them concurrently, with timeouts of a few seconds; only a script that is slow to
// initialise takes longer. It returns early when ctx is done.
func External(ctx context.Context, s Subject) Findings {
	o := observations{clock: examineClock(), ports: examinePorts()}
	var wg crash.Group
	if s.Target != "" {
		if o.url, o.refused = parseTarget(s.Target, s.File, s.AllowHosts); o.url != nil {
			wg.Go(func() { o.target = examineTarget(ctx, o.url) })
			if s.Instances != nil {
				wg.Go(func() { o.instances, o.unlisted = s.Instances(ctx) })
			}
		}
	}
	if s.DSN != "" {
		wg.Go(func() { o.db = examineDatabase(ctx, s.DSN, s.Run, profilesOf(s.Loads)) })
	}
	if nodes, err := databases.ParseNodes(s.Nodes); err == nil && len(nodes) > 0 {
		wg.Go(func() { o.poolers = examinePoolers(ctx, nodes) })
	}
	if s.Insights != nil {
		wg.Go(func() { o.insights = within(ctx, databaseTimeout, s.Insights.Examine) })
	}
	if s.Influx.URL != "" {
		wg.Go(func() { o.view = examineInflux(ctx, s.Influx.URL, s.Influx.Token) })
	}
	wg.Go(func() { o.gauges = s.examineGauges(ctx) })
	wg.Go(func() { o.aborts = s.examineAborts(ctx) })
	wg.Go(func() { o.scripts = s.initialiseScripts(ctx) })
	wg.Wait()
	return s.judge(o)
}

// observations are the results of all probes of External.
type observations struct {
	clock     Clock
	ports     Ports
	url       *url.URL // nil: no target, or it is refused
	refused   Finding
	target    Target
	instances []string // URLs of the instances of the service behind the target
	unlisted  error    // why they are not known
	db        Database
	poolers   map[string]error // by the name of the node at which it answers
	insights  error            // error from reading Performance Insights
	gauges    []*gaugeResult
	aborts    *abortSources
	view      View
	scripts   map[string]script // by profile
}

func (s Subject) judge(o observations) Findings {
	var all Findings
	c := scriptOptionsOf(s.Loads, o.scripts)
	var remote []string // on other hosts
	switch {
	case o.url != nil:
		if s.Instances != nil { // before the target, which cannot be reached without
			all = append(all, instances(s.Service, o.instances, o.unlisted))
		}
		all = append(all, target(o.url, o.target, c))
		if o.target.Dial == nil && o.target.DNS == nil {
			o.ports.Taken = o.target.Taken
			if !s.Remote {
				all = append(all, ports(o.ports, o.target.Local, c.reconnects, sizes(s.Loads)))
			}
			if !o.target.Local {
				remote = append(remote, "service")
			}
		}
	case s.Target != "":
		all = append(all, o.refused)
	}
	if s.DSN != "" && o.db.Err == nil && o.db.DSNErr == nil && !o.db.Local {
		remote = append(remote, "database")
	}
	all = append(all, clock(o.clock, remote))
	for _, l := range s.Loads {
		if f, refused := scriptDSN(l, s.DSN); refused {
			all = append(all, f)
		}
	}
	switch {
	case s.DSN != "":
		all = append(all, s.databaseFindings(o.db, o.target.Pool)...)
	case s.Insights != nil:
		all = append(all, insightsOnly(s.Loads)...)
	case s.Target != "": // without a target the local stack has a database
		all = append(all, noDatabase(s.Loads))
	}
	if s.Target != "" { // without a target the local stack may have nodes
		all = append(all, missingNodes(s.Loads, s.Nodes)...)
	}
	all = append(all, poolers(o.poolers)...)
	if s.Insights != nil {
		all = append(all, insightsFinding(s.Insights, o.insights))
	}
	all = append(all, s.gaugesFindings(o.gauges)...)
	all = append(all, s.abortFindings(o)...)
	for _, l := range s.Loads {
		found := o.scripts[l.Profile.Name]
		all = append(all, scriptFinding(l.Profile.Name, fleet.MainOf(s.File, l.Profile).String(), found))
		if f, thinks := thinkFinding(l.Profile.Name, thinksUnplanned(s.File, l.Profile)); thinks {
			all = append(all, f)
		}
		if f, sleeps := sleepFinding(l.Profile.Name, found.sleeps); sleeps {
			all = append(all, f)
		}
	}
	if s.Influx.URL != "" {
		all = append(all, influxFinding(o.view))
	}
	return all
}

func profilesOf(loads []Load) (all []spec.Profile) {
	for _, l := range loads {
		all = append(all, l.Profile)
	}
	return all
}

// influxFinding judges the server of the view. A run needs no view, so it is a warning at
// most.
func influxFinding(i View) Finding {
	const needed = "accepts points"
	if i.Err == nil {
		return pass(CheckInflux, i.Name, needed)
	}
	remedy := cmp.Or(hint.Of(i.Err), "check that it is running, ASSAY_INFLUX_URL and ASSAY_INFLUX_TOKEN")
	return warn(CheckInflux, reason(i.Err), needed, fmt.Sprintf("the run cannot be watched live: %v", i.Err), remedy)
}

func reason(err error) string { return databases.Reason(err) }
