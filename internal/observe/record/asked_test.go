package record

import (
	"path/filepath"
	"strings"
	"testing"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/spec"
)

// A record that comes back in the place of the one that was asked for is found by its plan.
func TestCheckAsked(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	made := aPlan()
	made.Target, made.Thresholds, made.Overrides = "http://shop", Digest{Path: "/elsewhere/thresholds.json", SHA256: "sha256:1"}, map[string]string{"hold": "10m0s", "rate": "5"}
	w, err := Create(dir, made)
	if err != nil {
		t.Fatal(err)
	}
	must(t, w.Close())
	for name, change := range map[string]func(*Plan){
		"":           func(p *Plan) { p.Thresholds.Path = "thresholds.json" }, // its place here
		"run":        func(p *Plan) { p.Run = "another" },
		"profile":    func(p *Plan) { p.Profile.Name = "another" },
		"thresholds": func(p *Plan) { p.Thresholds.SHA256 = "sha256:2" },
		"target":     func(p *Plan) { p.Target = "http://shop/" },
		"scope":      func(p *Plan) { p.Scope = spec.ScopeCertificate },
		"overrides":  func(p *Plan) { p.Overrides = nil },
	} {
		asked := made
		change(&asked)
		err := CheckAsked(dir, asked)
		if name == "" && err != nil || name != "" && (err == nil || !strings.Contains(err.Error(), "not of the run that was asked for: its "+name+" is ") || hint.Of(err) == "") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if CheckAsked(t.TempDir(), made) == nil {
		t.Error("an empty folder is a record")
	}
}
