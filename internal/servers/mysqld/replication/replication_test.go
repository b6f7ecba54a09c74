package replication

import (
	"strings"
	"testing"

	"assay.dev/assay/internal/servers/mysqld"
)

func TestGaleraState(t *testing.T) {
	for _, c := range []struct {
		cluster, local, ready string
		quorum, usable        bool
	}{
		{"Primary", "Synced", "ON", true, true},
		{"Primary", "Joined", "ON", true, false},
		{"Primary", "Donor/Desynced", "ON", true, false},
		{"non-Primary", "Initialized", "OFF", false, false},
		{"non-Primary", "Synced", "ON", false, false},
		{"Primary", "Synced", "OFF", true, false},
		{"", "", "", false, false}, // no data
	} {
		s := galeraState(map[string]string{"wsrep_cluster_status": c.cluster, "wsrep_local_state_comment": c.local, "wsrep_ready": c.ready})
		if s.Quorum != c.quorum || s.Ready != c.usable || s.Writable() != c.usable {
			t.Errorf("%+v: %+v", c, s)
		}
	}
}

func TestGroupState(t *testing.T) {
	for name, c := range map[string]struct {
		members                []member
		quorum, ready, outside bool
	}{
		"all online":             {[]member{{"ONLINE", true}, {"ONLINE", false}, {"ONLINE", false}}, true, true, false},
		"one lost":               {[]member{{"ONLINE", true}, {"ONLINE", false}, {"UNREACHABLE", false}}, true, true, false},
		"cut off":                {[]member{{"ONLINE", true}, {"UNREACHABLE", false}, {"UNREACHABLE", false}}, false, false, false},
		"half":                   {[]member{{"ONLINE", true}, {"UNREACHABLE", false}}, false, false, false},
		"catching up":            {[]member{{"RECOVERING", true}, {"ONLINE", false}}, true, false, false},
		"expelled":               {[]member{{"ERROR", true}}, false, false, true},
		"never started":          {[]member{{"OFFLINE", false}}, false, false, true},
		"not in its own members": {nil, false, false, true},
	} {
		s := groupState(c.members)
		if s.Quorum != c.quorum || s.Ready != c.ready || s.Outside != c.outside || s.Text == "" {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

func TestReplicaState(t *testing.T) {
	for name, c := range map[string]struct {
		status map[string]string
		ready  bool
		text   string
	}{
		"replicates":    {map[string]string{"Replica_IO_Running": "Yes", "Replica_SQL_Running": "Yes"}, true, "replicates"},
		"no connection": {map[string]string{"Replica_IO_Running": "Connecting", "Replica_SQL_Running": "Yes", "Last_IO_Error": "refused"}, false, "does not replicate: refused"},
		"not a replica": {nil, false, "does not replicate"},
	} {
		if s := replicaState(c.status); s.Ready != c.ready || s.Text != c.text {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

const history = "37aef80c-e841-11f1-b303-6a6fcf3b7eb0"

func TestPositions(t *testing.T) {
	p, err := parseSaved("# GALERA saved state\nversion: 2.1\nuuid:    " + history + "\nseqno:   19\nsafe_to_bootstrap: 1\n")
	if err != nil || p != (Position{history, 19}) {
		t.Errorf("saved: %v, %v", p, err)
	}
	if p, err := parseSaved("uuid: " + history + "\nseqno: -1\n"); err != nil || p.Number != -1 {
		t.Errorf("saved by a crashed server: %v, %v", p, err)
	}
	p, err = parseRecovered("2026-11-24 [Note] WSREP: Recovered position: " + history + ":12,0-1-3\n")
	if err != nil || p != (Position{history, 12}) {
		t.Errorf("recovered: %v, %v", p, err)
	}
	for _, text := range []string{"", "uuid: x", "Recovered position: "} {
		if p, err := parseSaved(text); err == nil {
			t.Errorf("saved %q: %v", text, p)
		}
		if p, err := parseRecovered(text); err == nil {
			t.Errorf("recovered %q: %v", text, p)
		}
	}
}

func TestFurthest(t *testing.T) {
	for name, c := range map[string]struct {
		positions map[string]Position
		want      string // "" = an error
	}{
		"b is further":    {map[string]Position{"a": {history, 3}, "b": {history, 4}}, "b"},
		"the same":        {map[string]Position{"b": {history, 3}, "a": {history, 3}}, "a"},
		"other histories": {map[string]Position{"a": {history, 3}, "b": {"other", 4}}, ""},
	} {
		got, err := Furthest(c.positions)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// TestLoopback: every port of a node is on the loopback address, and a group's name fits
// Galera's and Group Replication's form.
func TestLoopback(t *testing.T) {
	for _, k := range []Kind{Binlog, Galera, Group} {
		s := Set{Kind: k, Name: "/a folder", Nodes: []Node{{Name: "a", ID: 1, Port: 1001, Group: 1002, Transfer: 1003}, {Name: "b", ID: 2, Port: 1004, Group: 1005, Transfer: 1006}}}
		all := strings.Join(s.Args(s.Nodes[0], mysqld.MySQL, "lib"), " ") + strings.Join(s.ArbitratorArgs(s.Nodes[1]), " ")
		for _, port := range []string{"1002", "1003", "1005"} {
			if strings.Count(all, ":"+port) != strings.Count(all, "127.0.0.1:"+port) {
				t.Errorf("%s: %s", k, all)
			}
		}
		if len(s.short()) > 32 || len(s.uuid()) != 36 {
			t.Errorf("names %q and %q", s.short(), s.uuid())
		}
	}
}
