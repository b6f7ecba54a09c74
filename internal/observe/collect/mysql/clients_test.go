//go:build live

package mysql_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	driver "github.com/go-sql-driver/mysql"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/testing/mysqldtest"
	"assay.dev/assay/internal/testing/samplingtest"
)

// Sessions of the same user, host and schema are told apart by their connection attributes.
func clientsAreToldApart(t *testing.T, b *bench) {
	other := mysqldtest.Open(t, with(t, b.dsn, func(c *driver.Config) { c.ConnectionAttributes = "program_name:bulk" }))
	mysqldtest.Exec(t, other, "DO 1") // a session that has not logged in yet has no user
	c := started(t, b.dsn)
	r := samplingtest.Start(t, c)
	r.Await(t, 1)
	stopLoad := b.load(t, 3, update)
	stopOther := samplingtest.Load(t, other, 1, b.rest, scan)
	r.Until(t, "sessions of both clients are seen", func(s samplingtest.Result) bool {
		load, bulk := sessionsByClient(t, s)
		return load > 0 && bulk > 0
	})
	stopOther()
	stopLoad()
	s, err := r.Stop(t)
	if err != nil {
		t.Fatal(err)
	}
	if trips := s.Hist(metric.NetworkRoundTrip, metric.NewSeries("", "", "path", "database").Labels, s.Span); trips.Count() == 0 {
		t.Error("no round trip to the database was measured")
	}
}

// sessionsByClient are the sessions of the test's load, and of the client bulk.
func sessionsByClient(t *testing.T, s samplingtest.Result) (load, bulk float64) {
	t.Helper()
	process := fmt.Sprintf("process %d)", os.Getpid())
	for _, series := range s.Series(metric.DBSession) {
		client := series.Label("client")
		n := s.Total(metric.DBSession, "client", client, "digest", series.Label("digest"), "event", series.Label("event"))
		switch {
		case !strings.HasPrefix(client, "root@") || !strings.Contains(client, "("+schema+", ") || !strings.HasSuffix(client, process):
			t.Errorf("%v sessions of the client %q", n, client)
		case strings.Contains(client, ", bulk, "):
			bulk += n
		default:
			load += n
		}
	}
	return load, bulk
}
