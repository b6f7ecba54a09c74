package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"gopkg.in/yaml.v3"
)

// job FILE passes|fails: runs all commands of a CI file's only job, in order, as
// the service that reads it would, and sees that what the job keeps is there.
// Variables and secrets of the project are those of the script.
func job(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 || args[1] != "passes" && args[1] != "fails" {
		ts.Fatalf("usage: job FILE passes|fails")
	}
	run := onGitLab
	if strings.Contains(args[0], ".github") {
		run = onGitHub
	}
	passes, kept := run(ts, ts.ReadFile(args[0]))
	if passes != (args[1] == "passes") {
		ts.Fatalf("the job passes: %t", passes)
	}
	if len(kept) == 0 {
		ts.Fatalf("the job keeps nothing")
	}
	for _, path := range kept {
		_, err := os.Stat(ts.MkAbs(path))
		ts.Check(err)
	}
}

// onGitHub runs the steps of a workflow: each in a bash of its own that ends at
// the first failure (`bash -e {0}` is the default on Linux), after which only
// steps with always() run.
func onGitHub(ts *testscript.TestScript, text string) (passes bool, kept []string) {
	var workflow struct {
		Jobs map[string]struct {
			Env   map[string]string
			Steps []struct {
				Name, Run, Uses, If string
				Env, With           map[string]string
			}
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
				ts.Fatalf("step %q: this test knows no %q", s.Name, s.If)
			}
			if path := s.With["path"]; strings.HasPrefix(s.Uses, "actions/upload-artifact@") {
				kept = append(kept, path)
			}
			if s.Run == "" {
				continue
			}
			args := []string{}
			for _, env := range []map[string]string{j.Env, s.Env} {
				for name, value := range env {
					args = append(args, name+"="+expanded(ts, value))
				}
			}
			args = append(args, "bash", "-e", "-c", expanded(ts, s.Run))
			passes = exitOf(ts, ts.Exec("env", args...)) == 0 && passes
		}
	}
	return passes, kept
}

// expanded is a text with a project's variables and secrets in it; one that is
// not set is empty.
func expanded(ts *testscript.TestScript, text string) string {
	return regexp.MustCompile(`\$\{\{ (?:vars|secrets)\.(\w+) \}\}`).ReplaceAllStringFunc(text, func(s string) string {
		return ts.Getenv(s[strings.Index(s, ".")+1 : strings.LastIndex(s, " ")])
	})
}

// onGitLab runs the lines of a job's script in one shell that ends at the first
// failure; the project's variables are in its environment.
func onGitLab(ts *testscript.TestScript, text string) (passes bool, kept []string) {
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
		passes = exitOf(ts, ts.Exec("bash", "-e", "-o", "pipefail", "-c", strings.Join(j.Script, "\n"))) == 0
		if passes || j.Artifacts.When == "always" {
			kept = append(j.Artifacts.Paths, filepath.FromSlash(j.Artifacts.Reports.JUnit))
		}
	}
	return passes, kept
}
