package replication

import "testing"

func TestPassingFailure(t *testing.T) {
	for text, want := range map[string]string{
		"start database server: WSREP: gcs connect failed: Address already in use (log: server.log)":                                         "gcs connect failed: Address already in use",
		"2026-11-25 11:49:00.583 ERROR: ./gcs/src/gcs_core.cpp:gcs_core_open():256: Failed to open backend connection: -3 (No such process)": "Failed to open backend connection: -3 (No such process)",
		"start database server: WSREP: gcs connect failed: Connection timed out (log: server.log)":                                           "",
		"start database server: port 3306 is already in use":                                                                                 "",
	} {
		if got := PassingFailure(text); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
