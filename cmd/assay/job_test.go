//go:build live

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"gopkg.in/yaml.v3"
)

// run-job FILE passes|fails runs all commands of a CI file's only job, in order, as the CI
// service would, and fails unless the job's artifacts exist. The project's variables
// and secrets are taken from the script's environment.
func runJob(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 || args[1] != "passes" && args[1] != "fails" {
		ts.Fatalf("usage: run-job FILE passes|fails")
	}
	run := runGitLabJob
	if strings.Contains(args[0], ".github") {
		run = runGitHubJob
	}
	passes, artifacts := run(ts, ts.ReadFile(args[0]))
	if passes != (args[1] == "passes") {
		ts.Fatalf("the job passes: %t", passes)
	}
	if len(artifacts) == 0 {
		ts.Fatalf("the job has no artifacts")
	}
	for _, path := range artifacts {
		_, err := os.Stat(ts.MkAbs(path))
		ts.Check(err)
	}
}

// runGitHubJob runs the steps of a workflow, each in a bash of its own that exits at the
// first failure (`bash -e {0}`, the default on Linux). After a failed step only steps
// with always() run.
func runGitHubJob(ts *testscript.TestScript, text string) (passes bool, artifacts []string) {
	var workflow struct {
		Jobs map[string]struct {
			Env   map[string]string
			Steps []gitHubStep
		}
	}
	ts.Check(yaml.Unmarshal([]byte(text), &workflow))
	passes = true
	for _, j := range workflow.Jobs {
		for _, s := range j.Steps {
			if !passes && s.If != "always()" {
				continue
			}
			if s.If != "" && s.If != "always()" {
				ts.Fatalf("step %q: this test does not support %q", s.Name, s.If)
			}
			if path := s.With["path"]; strings.HasPrefix(s.Uses, "actions/upload-artifact@") {
				artifacts = append(artifacts, path)
			}
			passes = s.run(ts, j.Env) && passes
		}
	}
	return passes, artifacts
}

// gitHubStep is a step of a workflow: commands to run, or an action to use.
type gitHubStep struct {
	Name, Run, Uses, If string
	Env, With           map[string]string
}

// run runs the step's commands in the job's environment and its own.
func (s gitHubStep) run(ts *testscript.TestScript, job map[string]string) (passes bool) {
	if s.Run == "" {
		return true
	}
	var args []string
	for _, env := range []map[string]string{job, s.Env} {
		for name, value := range env {
			args = append(args, name+"="+expandVariables(ts, value))
		}
	}
	args = append(args, "bash", "-e", "-c", expandVariables(ts, s.Run))
	return exitCodeOf(ts, ts.Exec("env", args...)) == 0
}

// expandVariables replaces the project's variables and secrets in a text; one that is not
// set is empty.
func expandVariables(ts *testscript.TestScript, text string) string {
	return regexp.MustCompile(`\$\{\{ (?:vars|secrets)\.(\w+) \}\}`).ReplaceAllStringFunc(text, func(s string) string {
		return ts.Getenv(s[strings.Index(s, ".")+1 : strings.LastIndex(s, " ")])
	})
}

// runGitLabJob runs the lines of a job's script in one shell that exits at the first
// failure, with the project's variables in its environment.
func runGitLabJob(ts *testscript.TestScript, text string) (passes bool, artifacts []string) {
	var pipeline map[string]struct {
		Script    []string
		Artifacts struct {
			When    string
			Paths   []string
			Reports struct{ JUnit string }
		}
	}
	ts.Check(yaml.Unmarshal([]byte(text), &pipeline))
	for _, j := range pipeline {
		passes = exitCodeOf(ts, ts.Exec("bash", "-e", "-o", "pipefail", "-c", strings.Join(j.Script, "\n"))) == 0
		if passes || j.Artifacts.When == "always" {
			artifacts = append(j.Artifacts.Paths, filepath.FromSlash(j.Artifacts.Reports.JUnit))
		}
	}
	return passes, artifacts
}
