package ingestion

import (
	"path/filepath"
	"strings"

	"assay.dev/assay/internal/judge/sealed"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/series/search"
)

// Use is the CPU time that each part used in a trial's judged windows, in CPUs; null: not
// measured.
type Use struct {
	Rate      float64 // rate that was tried, per second
	Generator *float64
	Service   *float64
	Database  *float64
	Host      *float64 // all of it, with other work
	CPUs      *float64 // number of the host's CPUs
}

// use reads the last trial at a rate; nil: its record cannot be read.
func (o Options) use(dir string, d search.Document, rate float64) *Use {
	var u *Use
	for _, p := range d.Probes {
		if p.Rate != rate || p.Folder == "" { // the load of the trial, not one near it
			continue
		}
		if r, err := sealed.Open(filepath.Join(dir, p.Folder)); err == nil {
			u = useOf(r)
			u.Rate = rate
		}
	}
	return u
}

// useOf reads the record of a run.
func useOf(r sealed.Result) *Use {
	t, windows := r.Record.Timeline, r.Verdict.Judged
	cpus := func(name string, labels ...string) *float64 {
		total, seconds, found := 0.0, int64(0), false
		for _, w := range windows {
			n, ok := t.Sum(name, metric.NewSeries("", "", labels...).Labels, w)
			total, seconds, found = total+n, seconds+w.Seconds(), found || ok
		}
		if !found || seconds == 0 {
			return nil
		}
		total /= float64(seconds)
		return &total
	}
	u := &Use{
		Generator: cpus(metric.WorkerCPU),
		Service:   cpus(metric.ProcessCPU, "process", metric.SourceService),
		Database:  cpus(metric.ProcessCPU, "process", metric.SourceDatabase),
		Host:      cpus(metric.HostCPU),
	}
	if idle := cpus(metric.HostCPU, "mode", "idle"); u.Host != nil && idle != nil {
		*u.Host -= *idle
	} else {
		u.Host = nil
	}
	if n, ok := t.MaxGauge(metric.HostCPUs, nil, record.All); ok {
		u.CPUs = &n
	}
	return u
}

// parts is the sum of the three parts; nil: one of them is not measured.
func (u Use) parts() *float64 {
	if u.Generator == nil || u.Service == nil || u.Database == nil {
		return nil
	}
	sum := *u.Generator + *u.Service + *u.Database
	return &sum
}

// other is what other work on the host used; nil: not measured.
func (u Use) other() *float64 {
	parts := u.parts()
	if parts == nil || u.Host == nil {
		return nil
	}
	other := max(0, *u.Host-*parts) // each is read at its own time
	return &other
}

// largest is the part that uses the most CPU time; "": none is measured.
func (u Use) largest() (name string, most float64) {
	for _, part := range []struct {
		name string
		cpus *float64
	}{{"generator", u.Generator}, {"service", u.Service}, {"database", u.Database}} {
		if part.cpus != nil && *part.cpus > most {
			name, most = part.name, *part.cpus
		}
	}
	return name, most
}

// busy is the share from which a host has no CPU time to spare: at a load average above
// its CPUs, threads wait before the last tenth is used.
const busy = 0.9

// full reports whether the host's CPUs limited the rate.
func (u Use) full() bool { return u.Host != nil && u.CPUs != nil && *u.Host >= busy**u.CPUs }

// folderOf makes a folder's name of a mode's.
func folderOf(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, ",", ""), " ", "-")
}
