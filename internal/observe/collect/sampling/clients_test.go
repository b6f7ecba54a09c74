package sampling

import (
	"fmt"
	"testing"
)

func TestClientLabel(t *testing.T) {
	for want, c := range map[string]Client{
		"batch@10.0.0.7 (warehouse, mysql, process 4711)": {User: "batch", Host: "10.0.0.7", Schema: "warehouse", Program: "mysql", Process: "4711"},
		"batch@10.0.0.7": {User: "batch", Host: "10.0.0.7"},
		"batch (psql)":   {User: "batch", Program: "psql"},
	} {
		if got := c.Label(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestClientsAreBounded(t *testing.T) {
	all := Clients{}
	for i := range 3 * MaxClients {
		c := Client{User: fmt.Sprint("user", i)}
		if got := all.Label(c); i < MaxClients && got != c.Label() || i >= MaxClients && got != Other {
			t.Fatalf("client %d got the label %q", i, got)
		}
	}
	if got := all.Label(Client{User: "user0"}); got != "user0" {
		t.Errorf("a known client got the label %q", got)
	}
}
