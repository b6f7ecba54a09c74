//go:build live

package tpcc_test

import (
	"testing"

	"assay.dev/assay/lab/tpcc"
)

// small is a scale for tests, at which transactions meet often.
var small = tpcc.Scale{Warehouses: 2, Items: 200, Customers: 20, Seed: 7}

func TestScale(t *testing.T) {
	for _, c := range []struct {
		scale tpcc.Scale
		valid bool
	}{
		{tpcc.Scale{Warehouses: 1, Items: tpcc.FullItems, Customers: tpcc.FullCustomers}, true},
		{small, true},
		{tpcc.Scale{Warehouses: 0, Items: 200, Customers: 20}, false},
		{tpcc.Scale{Warehouses: 1, Items: 99, Customers: 20}, false},
		{tpcc.Scale{Warehouses: 1, Items: 200, Customers: 3001}, false},
	} {
		if err := c.scale.Check(); (err == nil) != c.valid {
			t.Errorf("%+v: %v", c.scale, err)
		}
	}
	if !(tpcc.Scale{Warehouses: 1, Items: tpcc.FullItems, Customers: tpcc.FullCustomers}).Full() || small.Full() {
		t.Error("the full scale is not told from another")
	}
}
