//go:build live

package project

import (
	"encoding/json"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"
)

// decodeCI decodes a CI file of a new project, which must conform to the schema of the
// service that reads it.
func decodeCI(t *testing.T, file, schema string, into any) {
	t.Helper()
	files, err := projectFiles()
	if err != nil {
		t.Fatal(err)
	}
	var doc any
	if err := yaml.Unmarshal(files[file], &doc); err != nil {
		t.Fatal(err)
	}
	compiled, err := jsonschema.NewCompiler().Compile(path.Join("testdata/schema", schema))
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(doc) // numbers as the validator wants them
	if err != nil {
		t.Fatal(err)
	}
	plain, err := jsonschema.UnmarshalJSON(strings.NewReader(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	if err := compiled.Validate(plain); err != nil {
		t.Errorf("%s: %v", file, err)
	}
	if err := yaml.Unmarshal(files[file], into); err != nil {
		t.Fatal(err)
	}
}

// runFolder is the run folder that the job's commands name.
func runFolder(t *testing.T, commands string) string {
	t.Helper()
	m := regexp.MustCompile(`bin/assay certify [^\n]* --out (\S+)`).FindStringSubmatch(commands)
	if m == nil {
		t.Fatalf("no command certifies with --out:\n%s", commands)
	}
	return m[1]
}

func TestJobOnGitHub(t *testing.T) {
	var workflow struct {
		Jobs map[string]struct {
			Steps []struct {
				Name, Run, Uses, If string
				Env, With           map[string]string
				Continue            bool `yaml:"continue-on-error"`
			}
		}
	}
	decodeCI(t, ".github/workflows/certify.yml", "github-workflows.json", &workflow)
	job := workflow.Jobs["certify"]
	folder, uploaded := "", ""
	for _, s := range job.Steps {
		if (s.Run == "") == (s.Uses == "") {
			t.Errorf("step %q: run %q, uses %q", s.Name, s.Run, s.Uses)
		}
		if s.Continue || strings.Contains(s.Run, "|| true") {
			t.Errorf("step %q: its failure would not fail the job", s.Name)
		}
		if strings.Contains(s.Run, "secrets.") {
			t.Errorf("step %q: a secret on a command line", s.Name)
		}
		if strings.Contains(s.Run, " certify ") {
			folder = runFolder(t, s.Run)
			if s.Env["ASSAY_SIGNING_KEY"] != "${{ secrets.ASSAY_SIGNING_KEY }}" || s.If != "" {
				t.Errorf("step %q: env %v, if %q", s.Name, s.Env, s.If)
			}
		} else if s.Env["ASSAY_SIGNING_KEY"] != "" {
			t.Errorf("step %q has the key", s.Name)
		}
		if strings.HasPrefix(s.Uses, "actions/upload-artifact@") {
			uploaded = s.With["path"]
			if s.If != "always()" {
				t.Errorf("the run folder is uploaded if %q, want always()", s.If)
			}
		}
	}
	if folder == "" || folder != uploaded {
		t.Errorf("the run is in %q, and %q is uploaded", folder, uploaded)
	}
}

func TestJobOnGitLab(t *testing.T) {
	var pipeline map[string]struct {
		Script    []string
		Allow     any `yaml:"allow_failure"`
		Artifacts struct {
			When    string
			Paths   []string
			Reports struct{ JUnit string }
		}
	}
	decodeCI(t, ".gitlab/certify.yml", "gitlab-ci.json", &pipeline)
	job := pipeline["certify"]
	folder := runFolder(t, strings.Join(job.Script, "\n"))
	a := job.Artifacts
	if a.When != "always" || len(a.Paths) != 1 || a.Paths[0] != folder || a.Reports.JUnit != folder+"/junit.xml" || job.Allow != nil {
		t.Errorf("the run is in %s, artifacts are %+v, allowed to fail: %v", folder, a, job.Allow)
	}
}
