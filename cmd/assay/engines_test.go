package main

import (
	"slices"
	"strings"
	"testing"
)

// The names of engines are listed from the table alone, and what an engine says of itself
// decides which options it takes.
func TestEngines(t *testing.T) {
	if got := engineNames(engine.inCluster); got != "kubernetes or k6-operator" {
		t.Errorf("in a cluster: %q", got)
	}
	if got := engineNames(engine.takesCommand); got != "exec" {
		t.Errorf("with a command: %q", got)
	}
	for i, e := range engines {
		if slices.ContainsFunc(engines[:i], func(other engine) bool { return other.name == e.name }) || !strings.Contains(engineNames(anyEngine), e.name) {
			t.Errorf("%s is listed twice, or never", e.name)
		}
		for _, dryRun := range []bool{false, true} {
			for _, command := range [][]string{nil, {"true"}} {
				f := fleetFlags{engine: e.name, command: command}
				f.kubernetes.dryRun = dryRun
				fits := (!dryRun || e.cluster) && (command != nil) == e.command
				if err := f.checkEngine(); (err == nil) != fits {
					t.Errorf("--engine %s, dry run %t, command %v: %v", e.name, dryRun, command, err)
				}
			}
		}
	}
	if err := (&fleetFlags{engine: "k8s"}).checkEngine(); err == nil || !strings.Contains(err.Error(), `--engine is "k8s": it must be local, join, `) {
		t.Errorf("an unknown engine: %v", err)
	}
}
