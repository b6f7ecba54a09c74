package spec_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"assay.dev/assay/internal/spec"
)

// The README's thresholds.json is valid, and its table has every key.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(string(readme), -1)
	whole := 0
	for _, b := range blocks {
		if !strings.Contains(b[1], `"profiles"`) {
			continue
		}
		whole++
		if _, err := spec.Decode("README.md", []byte(b[1])); err != nil {
			t.Error(err)
		}
	}
	if whole == 0 {
		t.Error("the README has no thresholds.json")
	}
	for _, key := range []string{
		"scenario", "load.unit", "load.target", "hold", "load.hold_max", "load.warmup", "ramp", "cooldown", "load.baseline",
		"load.stages", "load.spacing", "timeout", "slo", "ledger", "abort", "binlog_reader", "gauges", "stubs", "needs", "env", "marking", "rules",
	} {
		if !strings.Contains(string(readme), "`"+key+"`") {
			t.Errorf("the README's table has no key %s", key)
		}
	}
}
