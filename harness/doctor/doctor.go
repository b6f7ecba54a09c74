package doctor

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"sync"

	"assay/harness/doctor/probe"
	"assay/harness/hint"
	"assay/harness/observe/collect/databases"
	"assay/harness/observe/database"
	"assay/harness/observe/record"
	"assay/harness/spec"
)

// Subject is what is to be looked at, and what for.
type Subject struct {
	File       spec.File
	Loads      []Load // what would be run, one after the other; none: what every run needs
	Run        string // run id, of which there is nothing yet
	Seed       uint64
	Dir        string // folder of the record, or of several
	EmptyDir   bool   // Dir becomes a run folder, and must be empty or missing
	Target     string // empty: there is none yet
	AllowHosts []string
	DSN        string             // empty: none
	Insights   *database.Insights // where waits are read from instead; nil: from the database itself
	Readers    []string           // DSNs of replicas whose lag is watched
	Influx     Influx             // empty URL: it is not looked at; a run looks itself, as it begins to write
	Executable string             // this program, which is the k6 that initialises a script
}

// Influx is the view's database.
type Influx struct {
	URL   string
	Token string
}

// Machine judges this machine alone: it takes no time, and sends nothing.
func Machine(s Subject) Findings {
	var all Findings
	for _, l := range s.Loads {
		f := fine(CheckPlan, SizeOf(l).String(), "")
		f.Profile = l.Profile.Name
		all = append(all, f)
	}
	if s.EmptyDir {
		if err := record.CheckEmpty(s.Dir); err != nil {
			return append(all, bad(CheckFolder, reason(err), "an empty folder", err.Error(), "name another folder with --out"))
		}
	}
	m, f, need := probe.LookAtMachine(), probe.LookAtFolder(s.Dir), sizes(s.Loads)
	return append(all, descriptors(m.Descriptors, need), memory(m.Memory, need), cpus(m.CPUs, need), folder(f), disk(f, need))
}

// Outside judges what the run would talk to, and its scripts. All are looked at
// side by side, with limits of some seconds; only a script that takes long to
// initialise takes longer. ctx ends it at any moment.
func Outside(ctx context.Context, s Subject) Findings {
	var looking sync.WaitGroup
	var u *url.URL
	var refused Finding
	var there probe.Target
	if s.Target != "" {
		if u, refused = mayTarget(s.Target, s.File, s.AllowHosts); u != nil {
			looking.Go(func() { there = probe.LookAtTarget(ctx, u) })
		}
	}
	var db probe.Database
	if s.DSN != "" {
		looking.Go(func() { db = probe.LookAtDatabase(ctx, s.DSN, s.Run, profilesOf(s.Loads)) })
	}
	var insights error
	if s.Insights != nil {
		looking.Go(func() { insights = probe.LookAtInsights(ctx, *s.Insights) })
	}
	var view probe.Influx
	if s.Influx.URL != "" {
		looking.Go(func() { view = probe.LookAtInflux(ctx, s.Influx.URL, s.Influx.Token) })
	}
	var gauges []*look
	looking.Go(func() { gauges = s.lookAtGauges(ctx) })
	scripts := s.lookAtScripts(ctx)
	looking.Wait()
	return s.judge(seen{probe.LookAtClock(), probe.LookAtMachine().Ports, u, refused, there, db, insights, gauges, view, scripts})
}

// seen is what was looked at outside.
type seen struct {
	clock    probe.Clock
	ports    probe.Ports
	url      *url.URL // nil: there is no target, or it is refused
	refused  Finding
	target   probe.Target
	db       probe.Database
	insights error // of Performance Insights, where it is asked
	gauges   []*look
	view     probe.Influx
	scripts  map[string]script // by profile
}

func (s Subject) judge(o seen) Findings {
	var all Findings
	c := connectsOf(s.Loads, o.scripts)
	var elsewhere []string
	switch {
	case o.url != nil:
		all = append(all, target(o.url, o.target, c))
		if o.target.Dial == nil && o.target.DNS == nil {
			o.ports.Taken = o.target.Taken
			all = append(all, ports(o.ports, o.target.Here, c.reconnects, sizes(s.Loads)))
			if !o.target.Here {
				elsewhere = append(elsewhere, "service")
			}
		}
	case s.Target != "":
		all = append(all, o.refused)
	}
	if s.DSN != "" && o.db.Err == nil && o.db.DSN == nil && !o.db.Here {
		elsewhere = append(elsewhere, "database")
	}
	all = append(all, clock(o.clock, elsewhere))
	for _, l := range s.Loads {
		if f, refused := scriptDSN(l, s.DSN); refused {
			all = append(all, f)
		}
	}
	switch {
	case s.DSN != "":
		all = append(all, databaseFindings(o.db, o.target.Pool, s.File, s.Loads, s.Insights == nil)...)
	case s.Insights != nil:
		all = append(all, insightsAlone(s.Loads)...)
	case s.Target != "": // else the local stack brings its own
		all = append(all, noDatabase(s.Loads))
	}
	if s.Insights != nil {
		all = append(all, insightsFinding(*s.Insights, o.insights))
	}
	all = append(all, s.gaugesFindings(o.gauges)...)
	for _, l := range s.Loads {
		all = append(all, scriptFinding(l.Profile.Name, s.path(l.Profile), o.scripts[l.Profile.Name]))
	}
	if s.Influx.URL != "" {
		all = append(all, influxFinding(o.view))
	}
	return all
}

// path is that of the profile's scenario, which is relative to the thresholds
// file.
func (s Subject) path(p spec.Profile) string {
	return filepath.Join(filepath.Dir(s.File.Path), filepath.FromSlash(p.Scenario))
}

func profilesOf(loads []Load) (all []spec.Profile) {
	for _, l := range loads {
		all = append(all, l.Profile)
	}
	return all
}

// influxFinding judges the view's server; it is a view, so it never refuses.
func influxFinding(i probe.Influx) Finding {
	const needed = "takes points"
	if i.Err == nil {
		return fine(CheckInflux, i.Shown, needed)
	}
	remedy := cmp.Or(hint.Of(i.Err), "see that it is up, and what ASSAY_INFLUX_URL and ASSAY_INFLUX_TOKEN say")
	return doubtful(CheckInflux, reason(i.Err), needed, fmt.Sprintf("the run will not be seen while it goes on: %v", i.Err), remedy)
}

// reason is what is at the bottom of an error.
func reason(err error) string { return databases.Reason(err) }
