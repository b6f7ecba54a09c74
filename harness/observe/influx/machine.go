package influx

import (
	"fmt"
	"time"

	"assay/harness/observe/metric"
	"assay/harness/plan"
)

func (s *second) service() {
	var f fields
	gauge := func(field, name string) {
		v, ok := s.level(name)
		f.add(field, v, ok)
	}
	counter := func(field, name string) (float64, bool) {
		v, ok := s.sum(name)
		f.add(field, v, ok)
		return v, ok
	}
	gauge("pool_in_use", metric.ServicePoolInUse)
	gauge("pool_open", metric.ServicePoolOpen)
	gauge("pool_max", metric.ServicePoolMax)
	counter("pool_waits", metric.ServicePoolWaits)
	waited, ok := counter("pool_wait_ms", metric.ServicePoolWaitTime)
	f.ratio("pool_wait_ms_per_transaction", waited, s.started(), ok)
	counter("queries", metric.ServiceQueries)
	queried, ok := counter("query_ms", metric.ServiceQueryTime)
	f.ratio("query_ms_per_transaction", queried, s.started(), ok)
	s.add("service", f)
}

func (s *second) host() {
	var f fields
	cpus, ok := s.level(metric.HostCPUs)
	f.add("cpus", cpus, ok)
	f.add("database_cpus", cpus, ok && s.DatabaseHere)
	all, ok := s.sum(metric.HostCPU)
	idle, _ := s.sum(metric.HostCPU, metric.Label{Key: "mode", Value: "idle"})
	waiting, _ := s.sum(metric.HostCPU, metric.Label{Key: "mode", Value: "iowait"})
	f.ratio("cpu_busy", all-idle-waiting, all, ok)
	stolen, ok := s.sum(metric.HostCPU, metric.Label{Key: "mode", Value: "steal"})
	f.ratio("cpu_stolen", stolen, all, ok)
	memory, ok := s.level(metric.HostMemoryAvailable)
	f.add("memory_available", memory, ok)
	s.add("host", f)

	s.parts("device",
		part{metric.HostDiskRead, "disk_read"}, part{metric.HostDiskWritten, "disk_written"}, part{metric.HostDiskBusy, "disk_busy"})
	s.parts("interface", part{metric.HostNetReceived, "network_received"}, part{metric.HostNetSent, "network_sent"})
	s.parts("process", part{metric.ProcessCPU, "process_cpu"}, part{metric.ProcessMemory, "process_memory"},
		part{metric.CgroupThrottled, "process_throttled"})
	for _, group := range s.groups(metric.HostPressure, "resource", "kind") {
		var f fields
		v, ok := s.sum(metric.HostPressure, group...)
		f.add("pressure", v, ok)
		s.add("host", f, "resource", group[0].Value, "kind", group[1].Value)
	}
}

// part is a metric that each part of the host has, and its field.
type part struct{ metric, field string }

// parts makes a point for each part of the host that the label names.
func (s *second) parts(label string, all ...part) {
	done := map[string]bool{}
	for _, p := range all {
		for _, group := range s.groups(p.metric, label) {
			if done[group[0].Value] {
				continue
			}
			done[group[0].Value] = true
			var f fields
			for _, p := range all {
				v, ok := s.sum(p.metric, group...)
				if !ok {
					v, ok = s.level(p.metric, group...)
				}
				f.add(p.field, v, ok)
			}
			s.add("host", f, label, group[0].Value)
		}
	}
}

// stages tells of a stage that begins in this second.
func (s *second) stages() {
	for _, st := range s.Plan.Load.Stages {
		if st.Start == s.offset() {
			var f fields
			f.text("title", st.Name)
			f.text("text", stageText(st))
			s.add("run_event", f, "kind", "stage")
		}
	}
}

func stageText(st plan.Stage) string {
	rate := fmt.Sprintf("%g/s", st.To)
	if st.From != st.To {
		rate = fmt.Sprintf("%g/s to %g/s", st.From, st.To)
	}
	return fmt.Sprintf("%s for %s", rate, st.Duration.Round(time.Second))
}

// Verdict is the event of a run's verdict, at its end.
func Verdict(a About, ended time.Time, outcome, claim string) []Point {
	var f fields
	f.text("title", outcome)
	f.text("text", claim)
	return a.point("run_event", ended.Unix(), f, "kind", "verdict")
}
