package influx

import (
	"fmt"
	"time"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/plan"
)

func (s *second) host() {
	var f fields
	cpus, ok := s.gauge(metric.HostCPUs)
	f.add("cpus", cpus, ok)
	f.add("database_cpus", cpus, ok && s.DatabaseHere)
	all, ok := s.sum(metric.HostCPU)
	idle, _ := s.sum(metric.HostCPU, metric.Label{Key: "mode", Value: "idle"})
	waiting, _ := s.sum(metric.HostCPU, metric.Label{Key: "mode", Value: "iowait"})
	f.ratio("cpu_busy", all-idle-waiting, all, ok)
	stolen, ok := s.sum(metric.HostCPU, metric.Label{Key: "mode", Value: "steal"})
	f.ratio("cpu_stolen", stolen, all, ok)
	memory, ok := s.gauge(metric.HostMemoryAvailable)
	f.add("memory_available", memory, ok)
	s.add("host", f)

	s.measured("host")
}

// stages makes an event for each stage that begins in this second.
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

// Verdict makes the event of a run's verdict, at its end.
func Verdict(r RunInfo, ended time.Time, outcome, claim string) []Point {
	var f fields
	f.text("title", outcome)
	f.text("text", claim)
	return r.point("run_event", ended.Unix(), f, "kind", "verdict")
}
