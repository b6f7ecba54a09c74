package service

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/harness/observe/record"
)

func TestBuildsIn(t *testing.T) {
	build := func(metric string, labels ...string) record.Build {
		b := record.Build{Metric: metric, Labels: map[string]string{}}
		for i := 0; i < len(labels); i += 2 {
			b.Labels[labels[i]] = labels[i+1]
		}
		return b
	}
	many := ""
	for i := range 40 {
		many += fmt.Sprintf("app_build_info{n=\"%02d\"} 1\n", i)
	}
	for name, c := range map[string]struct {
		exposition string
		want       []record.Build
	}{
		"none":      {"up 1\napp_build_information{version=\"1\"} 1\n", nil},
		"no labels": {"app_build_info 1\napp_build_info{} 1\n", nil},
		"garbage":   {"app_build_info{ what\n", nil},
		"sorted": {
			"# TYPE b_build_info gauge\nb_build_info{version=\"2\"} 1\na_build_info{version=\"1\",revision=\"ab\"} 1\na_build_info{version=\"0\"} 1\n",
			[]record.Build{build("a_build_info", "revision", "ab", "version", "1"), build("a_build_info", "version", "0"), build("b_build_info", "version", "2")},
		},
		"too long": {"a_build_info{version=\"" + strings.Repeat("x", maxValue+1) + "\"} 1\nb_build_info{version=\"2\"} 1\n", []record.Build{build("b_build_info", "version", "2")}},
	} {
		if diff := cmp.Diff(c.want, buildsIn([]byte(c.exposition))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if got := buildsIn([]byte(many)); len(got) != maxBuilds {
		t.Errorf("%d builds are recorded", len(got))
	}
}
