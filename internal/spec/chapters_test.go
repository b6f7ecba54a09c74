package spec_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"assay.dev/assay/internal/spec"
)

// Each thresholds.json of docs/service.md is valid.
func TestServiceChapter(t *testing.T) {
	chapter, err := os.ReadFile("../../docs/service.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(string(chapter), -1)
	whole := 0
	for _, b := range blocks {
		if !strings.Contains(b[1], `"profiles"`) {
			continue
		}
		whole++
		if _, err := spec.Decode("docs/service.md", []byte(b[1])); err != nil {
			t.Error(err)
		}
	}
	if whole == 0 {
		t.Error("docs/service.md has no thresholds.json")
	}
}

// The table of docs/profiles.md has every key of a profile.
func TestProfilesChapter(t *testing.T) {
	chapter, err := os.ReadFile("../../docs/profiles.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{
		"scenario", "load.unit", "load.target", "hold", "load.hold_max", "load.warmup", "ramp", "cooldown", "load.baseline",
		"load.stages", "load.spacing", "timeout", "slo", "ledger", "abort", "binlog_reader", "gauges", "stubs", "needs", "env", "marking", "rules",
	} {
		if !strings.Contains(string(chapter), "`"+key+"`") {
			t.Errorf("the table has no key %s", key)
		}
	}
}
