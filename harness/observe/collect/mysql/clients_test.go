package mysql_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	driver "github.com/go-sql-driver/mysql"

	"assay/harness/observe/collect/sampling/samplingtest"
	"assay/harness/observe/metric"
	"assay/harness/servers/mysqld/mysqldtest"
)

// Sessions of the same user, host and schema are told apart by their connection attributes.
func clientsAreToldApart(t *testing.T, b *bench) {
	other := mysqldtest.Open(t, with(t, b.dsn, func(c *driver.Config) { c.ConnectionAttributes = "program_name:bulk" }))
	c := started(t, b.dsn)
	r := samplingtest.Start(t, c)
	r.Await(t, 1)
	stopLoad := b.load(t, 3, update)
	stopOther := samplingtest.Load(t, other, 2, func() string { return "SELECT COUNT(*) FROM item WHERE n + id < -1 INTO @x" })
	r.Await(t, 15)
	stopOther()
	stopLoad()
	s, err := r.Stop(t)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]float64{}
	for _, series := range s.Series(metric.DBSession) {
		seen[series.Label("client")] += s.Total(metric.DBSession, "client", series.Label("client"), "digest", series.Label("digest"), "event", series.Label("event"))
	}
	process := fmt.Sprintf("process %d)", os.Getpid())
	load, bulk := 0.0, 0.0
	for client, n := range seen {
		switch {
		case !strings.HasPrefix(client, "root@") || !strings.Contains(client, "("+schema+", ") || !strings.HasSuffix(client, process):
			t.Errorf("%v sessions of the client %q", n, client)
		case strings.Contains(client, ", bulk, "):
			bulk += n
		default:
			load += n
		}
	}
	if load == 0 || bulk == 0 {
		t.Errorf("sessions by client: %v", seen)
	}
	if trips := s.Hist(metric.NetworkRoundTrip, metric.NewSeries("", "", "path", "database").Labels, s.Span); trips.Count() == 0 {
		t.Error("no round trip to the database was measured")
	}
}
