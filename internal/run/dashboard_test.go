//go:build live

package run_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const dashboards = "../../dashboards"

// dashboard is the part of Grafana's JSON that the tests read.
type dashboard struct {
	UID         string `json:"uid"`
	Panels      []panel
	Annotations struct {
		List []struct {
			Name, Query, TitleColumn, TextColumn, TagsColumn string
			Target                                           struct{ Query string }
		}
	}
	Templating struct {
		List []struct{ Name, Type, Query string }
	}
}

type panel struct {
	Title, Description string
	GridPos            struct{ X, W int }
	Type               string
	FieldConfig        struct {
		Defaults struct {
			Unit       string
			Thresholds struct{ Steps []any }
			Custom     struct{ AxisWidth int }
		}
	}
	Targets []struct {
		Query, Alias, ResultFormat string
		RawQuery                   bool
	}
}

func readDashboards(t *testing.T) map[string]dashboard {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dashboards, "*.json"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no dashboards: %v", err)
	}
	all := map[string]dashboard{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var d dashboard
		if err := json.Unmarshal(data, &d); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all[strings.TrimSuffix(filepath.Base(path), ".json")] = d
	}
	return all
}

// A dashboard's uid is its file name, and each panel has a description, a unit and a
// threshold, and shares the time axis.
func TestDashboardsAreDescribed(t *testing.T) {
	for name, d := range readDashboards(t) {
		if d.UID != name {
			t.Errorf("%s has the uid %q", name, d.UID)
		}
		var variables []string
		for _, v := range d.Templating.List {
			variables = append(variables, v.Name)
		}
		for _, want := range []string{"datasource", "run", "profile"} {
			if !slices.Contains(variables, want) {
				t.Errorf("%s has no variable %s", name, want)
			}
		}
		for _, p := range d.Panels {
			of := p.FieldConfig.Defaults
			if p.Description == "" || of.Unit == "" || len(of.Thresholds.Steps) == 0 {
				t.Errorf("%s: panel %q lacks description, unit or threshold", name, p.Title)
			}
			if p.Type == "timeseries" && (p.GridPos.X != 0 || p.GridPos.W != 24 || of.Custom.AxisWidth == 0) {
				t.Errorf("%s: panel %q does not share the time axis", name, p.Title)
			}
		}
	}
}
