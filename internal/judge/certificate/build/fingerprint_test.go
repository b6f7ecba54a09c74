package build

import (
	"testing"

	"assay.dev/assay/internal/observe/record"
)

func environment() record.Environment {
	return record.Environment{
		Database: &record.Database{Flavour: "mysql", Version: "8.4.0", Variables: map[string]string{"a": "1", "b": "2"}, Instruments: []string{"i"}},
		Service:  &record.Service{Builds: []record.Build{{Metric: "app_build_info", Labels: map[string]string{"version": "1.2"}}}},
	}
}

// The fingerprint changes with the system that the certificate holds for, and with
// nothing else. Its value is part of the contract: the SHA-256 of
// {"database":{"flavour":"mysql","version":"8.4.0","variables":{"a":"1","b":"2"}},"service":{"builds":[{"metric":"app_build_info","labels":{"version":"1.2"}}]}}
func TestFingerprint(t *testing.T) {
	was := *Fingerprint(environment())
	if want := "sha256:beda194f19bc780afabd47de5ab74a376241e62e52cd1648e008a5df1b510d17"; was != want {
		t.Errorf("fingerprint %s, want %s", was, want)
	}
	for name, change := range map[string]func(e *record.Environment){
		"flavour":          func(e *record.Environment) { e.Database.Flavour = "mariadb" },
		"version":          func(e *record.Environment) { e.Database.Version = "8.4.1" },
		"variable":         func(e *record.Environment) { e.Database.Variables["a"] = "0" },
		"variable added":   func(e *record.Environment) { e.Database.Variables["c"] = "0" },
		"variable removed": func(e *record.Environment) { delete(e.Database.Variables, "b") },
		"build":            func(e *record.Environment) { e.Service.Builds[0].Labels["version"] = "1.3" },
		"database":         func(e *record.Environment) { e.Database = nil },
		"service":          func(e *record.Environment) { e.Service = nil },
	} {
		e := environment()
		change(&e)
		if *Fingerprint(e) == was {
			t.Errorf("changed %s, same fingerprint", name)
		}
	}
	e := environment()
	e.Host.Name, e.CoLocation, e.Database.Instruments = "elsewhere", []string{"service"}, nil
	if *Fingerprint(e) != was {
		t.Error("the fingerprint depends on something outside the system")
	}
	if Fingerprint(record.Environment{}) != nil {
		t.Error("an empty environment has a fingerprint")
	}
}
