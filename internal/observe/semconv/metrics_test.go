package semconv_test

import (
	"slices"
	"testing"

	experimental "go.opentelemetry.io/otel/semconv/v1.24.0"
	"go.opentelemetry.io/otel/semconv/v1.41.0/dbconv"
	"go.opentelemetry.io/otel/semconv/v1.41.0/goconv"
	"go.opentelemetry.io/otel/semconv/v1.41.0/httpconv"
	"go.opentelemetry.io/otel/semconv/v1.41.0/processconv"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/semconv"
)

// Names and units are those of the code that is generated from the conventions.
func TestNamesAndUnits(t *testing.T) {
	units := map[string]string{
		experimental.DBClientConnectionsUsageName:           experimental.DBClientConnectionsUsageUnit,
		experimental.DBClientConnectionsMaxName:             experimental.DBClientConnectionsMaxUnit,
		experimental.DBClientConnectionsPendingRequestsName: experimental.DBClientConnectionsPendingRequestsUnit,
		experimental.DBClientConnectionsTimeoutsName:        experimental.DBClientConnectionsTimeoutsUnit,
		experimental.DBClientConnectionsCreateTimeName:      experimental.DBClientConnectionsCreateTimeUnit,
		experimental.DBClientConnectionsWaitTimeName:        experimental.DBClientConnectionsWaitTimeUnit,
		experimental.DBClientConnectionsUseTimeName:         experimental.DBClientConnectionsUseTimeUnit,
	}
	for _, m := range []interface{ Name() string }{
		httpconv.ServerRequestDuration{},
		httpconv.ClientRequestDuration{},
		dbconv.ClientOperationDuration{},
		dbconv.ClientConnectionCount{},
		dbconv.ClientConnectionMax{},
		dbconv.ClientConnectionPendingRequests{},
		dbconv.ClientConnectionTimeouts{},
		dbconv.ClientConnectionCreateTime{},
		dbconv.ClientConnectionWaitTime{},
		dbconv.ClientConnectionUseTime{},
		processconv.CPUTime{},
		goconv.ProcessorLimit{},
	} {
		units[m.Name()] = m.(interface{ Unit() string }).Unit()
	}
	for name, unit := range units {
		if !slices.ContainsFunc(semconv.Metrics, func(m semconv.Metric) bool { return m.Name == name && m.Unit == unit }) {
			t.Errorf("%s in %s is not read", name, unit)
		}
	}
	for _, m := range semconv.Metrics {
		if unit, ok := units[m.Name]; ok && unit != m.Unit {
			t.Errorf("%s is in %s, want %s", m.Name, m.Unit, unit)
		}
		if _, known := metric.Find(m.As.Name); !known {
			t.Errorf("%s is read as %s", m.Name, m.As.Name)
		}
		if _, ok := m.Factor(""); !ok {
			t.Errorf("%s in %s cannot be read as %s in %s", m.Name, m.Unit, m.As.Name, m.As.Unit)
		}
	}
}

// An operation of the database is read as one thing only.
func TestOperations(t *testing.T) {
	for name, c := range map[string]struct {
		attributes map[string]string
		want       []string
	}{
		"a statement":              {map[string]string{"db.system.name": "mysql", "db.operation.name": "SELECT"}, []string{metric.ServiceQueries, metric.ServiceQueryTime}},
		"without a system":         {nil, []string{metric.ServiceQueries, metric.ServiceQueryTime}},
		"a store":                  {map[string]string{"db.system.name": "redis", "db.operation.name": "GET"}, []string{metric.ServiceDownstreamTime}},
		"its older attribute":      {map[string]string{"db.system": "mongodb"}, []string{metric.ServiceDownstreamTime}},
		"otelsql opens":            {map[string]string{"db.operation.name": "sql.connector.connect"}, []string{metric.ServiceConnectTime}},
		"otelsql reads rows":       {map[string]string{"db.operation.name": "sql.rows"}, []string{metric.ServiceQueryTime}},
		"otelpgx opens":            {map[string]string{"db.system.name": "postgresql", "pgx.operation.type": "connect"}, []string{metric.ServiceConnectTime}},
		"otelpgx gets":             {map[string]string{"db.system.name": "postgresql", "pgx.operation.type": "acquire"}, []string{metric.ServiceAcquireTime}},
		"a statement by otelpgx":   {map[string]string{"pgx.operation.type": "query", "db.operation.name": "acquire"}, []string{metric.ServiceQueries, metric.ServiceQueryTime}},
		"a statement by otelsql":   {map[string]string{"method": "sql.conn.exec"}, []string{metric.ServiceQueries, metric.ServiceQueryTime}},
		"a call of a store's pool": {map[string]string{"db.system": "redis", "pgx.operation.type": "acquire"}, []string{metric.ServiceDownstreamTime}},
	} {
		var got []string
		for _, m := range semconv.Metrics {
			if m.Name == "db.client.operation.duration" && m.Of(func(key string) string { return c.attributes[key] }) {
				got = append(got, m.As.Name)
			}
		}
		slices.Sort(got)
		slices.Sort(c.want)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s is read as %q, want %q", name, got, c.want)
		}
	}
}

func TestFactor(t *testing.T) {
	of := func(part semconv.Part, as string) semconv.Metric {
		return semconv.Metric{Unit: "s", Part: part, As: metric.Of(as)}
	}
	for _, c := range []struct {
		m    semconv.Metric
		unit string
		want float64
		ok   bool
	}{
		{of(semconv.Sum, metric.ServiceQueryTime), "", 1000, true},
		{of(semconv.Sum, metric.ServiceQueryTime), "ms", 1, true},
		{of(semconv.Sum, metric.ServiceQueryTime), "By", 0, false},
		{of(semconv.Count, metric.ServiceQueries), "By", 1, true},
		{of(semconv.Value, metric.ServiceCPU), "ms", 0.001, true},
		{of(semconv.Value, metric.ServicePoolMax), "{connection}", 1, true},
	} {
		if got, ok := c.m.Factor(c.unit); got != c.want || ok != c.ok {
			t.Errorf("%s in %q: %g, %t", c.m.As.Name, c.unit, got, ok)
		}
	}
}
