package service

import "testing"

func TestPoolIn(t *testing.T) {
	for name, c := range map[string]struct {
		exposition string
		want       Pool
	}{
		"none":     {"up 1\n", Pool{}},
		"garbage":  {"go_sql_open_connections{ what\n", Pool{}},
		"one":      {"go_sql_open_connections{db_name=\"a\"} 3\ngo_sql_max_open_connections{db_name=\"a\"} 40\n", Pool{Known: true, Open: 3, Max: 40}},
		"two":      {"go_sql_open_connections{db_name=\"a\"} 3\ngo_sql_open_connections{db_name=\"b\"} 4\ngo_sql_max_open_connections{db_name=\"a\"} 40\n", Pool{Known: true, Open: 7, Max: 40}},
		"no limit": {"go_sql_open_connections 3\ngo_sql_max_open_connections 0\n", Pool{Known: true, Open: 3}},
	} {
		if got := PoolIn([]byte(c.exposition)); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
