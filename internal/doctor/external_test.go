//go:build live

package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/load/fleet"
	"assay.dev/assay/internal/observe/collect/databases"
	"assay.dev/assay/internal/observe/collect/sampling"
	"assay.dev/assay/internal/observe/collect/service"
	"assay.dev/assay/internal/observe/database"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
)

func TestClock(t *testing.T) {
	good, wrong := Clock{Known: true, Synchronised: true, MaxError: 3 * time.Millisecond}, Clock{Known: true}
	for name, c := range map[string]struct {
		clock  Clock
		remote []string
		state  State
		words  string
	}{
		"good":                {good, []string{"database"}, OK, ""},
		"wrong, all local":    {wrong, nil, OK, ""},
		"wrong, one remote":   {wrong, []string{"database"}, Warning, "is not synchronised, and the database is on another host"},
		"wrong, both remote":  {wrong, []string{"service", "database"}, Warning, "the service and the database are on another host"},
		"unknown, one remote": {Clock{}, []string{"service"}, Warning, "possibly not synchronised, and the service is on another host"},
		"unknown, all local":  {Clock{}, nil, OK, ""},
	} {
		t.Run(name, func(t *testing.T) { expect(t, clock(c.clock, c.remote), c.state, c.words) })
	}
}

func TestDatabaseClock(t *testing.T) {
	lag := func(bounds ...float64) (loads []Load) {
		for _, b := range bounds {
			loads = append(loads, Load{Profile: spec.Profile{Flows: []spec.Flow{{SLOs: []spec.SLO{{Metric: metric.PersistLag, Bound: b}, {Metric: "transaction_duration", Bound: 1}}}}}})
		}
		return loads
	}
	at := func(d time.Duration) database.Offset {
		return database.Offset{Known: true, Ahead: d, Uncertainty: time.Millisecond}
	}
	for name, c := range map[string]struct {
		offset database.Offset
		loads  []Load
		state  State
		words  string
	}{
		"not known": {database.Offset{}, lag(5000), Warning, "cannot be read"},
		"near":      {at(500 * time.Millisecond), lag(5000), OK, ""},
		"ahead":     {at(501 * time.Millisecond), lag(5000), Warning, "501ms ahead of this host (±1ms): more than a tenth"},
		"behind":    {at(-2 * time.Second), lag(5000), Warning, "2s behind"},
		"tightest":  {at(101 * time.Millisecond), lag(5000, 1000), Warning, "bound on persist_lag, 1000 ms"},
	} {
		t.Run(name, func(t *testing.T) {
			f, judged := databaseClock(c.offset, c.loads)
			expect(t, f, c.state, c.words)
			// An unknown offset is no limitation.
			if far := c.state == Warning && c.offset.Known; !judged || far != (f.Limitation != "") {
				t.Errorf("judged %t, limitation %q", judged, f.Limitation)
			}
		})
	}
	if _, judged := databaseClock(at(time.Hour), []Load{{}}); judged {
		t.Error("the clock is judged although no SLO depends on it")
	}
}

func TestParseTarget(t *testing.T) {
	file := spec.File{Path: "thresholds.json", Targets: []string{"listed.test"}}
	for target, words := range map[string]string{
		"nonsense":                     "not an http or https URL",
		"ftp://127.0.0.1":              "not an http or https URL",
		"http://:8080":                 "not an http or https URL",
		"http://127.0.0.1:8%zz":        "not an http or https URL",
		"http://me:pw@127.0.0.1":       "contains a user or password",
		"http://127.0.0.1/?api_key=pw": "has a query or fragment",
		"http:/127.0.0.1?token=pw":     "has a query or fragment",
		"http://127.0.0.1/#pw":         "has a query or fragment",
		"http://127.0.0.1/;token=pw":   "holds a secret, in its path",
		"http://127.0.0.1/a/token=pw":  "holds a secret, in its path",
		"http://127.0.0.1/&token=pw":   "holds a secret, in its path",
		"http://127.0.0.1/%3Ftoken=pw": "holds a secret, in its path",
		"http://u:pw%40127.0.0.1:1":    "holds a secret",
		"http://u%3Apw%40127.0.0.1:1":  "holds a secret",
		"http://127.0.0.1:pw":          "not an http or https URL",
		"http:/u:pw":                   "not an http or https URL",
		"http://other.test":            "target host other.test is not allowed",
	} {
		u, f := parseTarget(target, file, []string{"named.test"})
		expect(t, f, Lacking, words)
		if u != nil || strings.Contains(fmt.Sprint(f), "pw") {
			t.Errorf("%s: %v, %+v", target, u, f)
		}
	}
	for _, target := range []string{"http://127.0.0.1:8080", "https://localhost", "http://listed.test/shop", "http://listed.test/v1/tokens/a=b", "https://named.test:8443"} {
		if u, f := parseTarget(target, file, []string{"named.test"}); u == nil {
			t.Errorf("%s is refused: %+v", target, f)
		}
	}
}

func TestTarget(t *testing.T) {
	u, _ := url.Parse("https://shop.test:8443/api")
	no := errors.New("dial tcp: some reason")
	for name, c := range map[string]struct {
		target  Target
		options scriptOptions
		state   State
		words   string
	}{
		"answers":                  {Target{Status: "404 Not Found"}, scriptOptions{}, OK, ""},
		"no such name":             {Target{DNS: no}, scriptOptions{}, Lacking, "cannot be reached: DNS: some reason"},
		"the script's own name":    {Target{DNS: no}, scriptOptions{mapsHosts: true}, Warning, "DNS"},
		"nobody listens":           {Target{Dial: no}, scriptOptions{}, Lacking, "https://shop.test:8443/api cannot be reached: some reason"},
		"nobody there, own name":   {Target{Dial: no}, scriptOptions{mapsHosts: true}, Warning, "cannot be reached"},
		"no TLS":                   {Target{TLS: no}, scriptOptions{skipVerify: true}, Lacking, "cannot be reached: TLS handshake: some reason"},
		"the client's certificate": {Target{TLS: no}, scriptOptions{clientTLS: true}, Warning, "TLS handshake"},
		"not trusted":              {Target{Trust: no}, scriptOptions{}, Lacking, "the certificate of target https://shop.test:8443/api is not trusted: some reason"},
		"not verified":             {Target{Trust: no}, scriptOptions{skipVerify: true}, Warning, "does not verify"},
		"no HTTP":                  {Target{HTTP: no}, scriptOptions{}, Warning, "does not respond in HTTP: some reason"},
	} {
		t.Run(name, func(t *testing.T) {
			f := target(u, c.target, c.options)
			expect(t, f, c.state, c.words)
			if (f.Limitation != "") != (name == "not verified") {
				t.Errorf("limitation %q", f.Limitation)
			}
		})
	}
}

// One script that verifies is enough to need a trusted certificate.
func TestScriptOptionsOfSeveralScripts(t *testing.T) {
	loads := []Load{{Profile: spec.Profile{Name: "a"}}, {Profile: spec.Profile{Name: "b"}}}
	skips := script{Script: fleet.Script{SkipsVerify: true, Reconnects: true}}
	if c := scriptOptionsOf(loads, map[string]script{"a": skips, "b": skips}); !c.skipVerify {
		t.Error("no script verifies, but skipVerify is not set")
	}
	c := scriptOptionsOf(loads, map[string]script{"a": skips, "b": {}})
	if c.skipVerify || !c.reconnects["a"] || c.reconnects["b"] {
		t.Errorf("%+v", c)
	}
	if scriptOptionsOf(nil, nil).skipVerify {
		t.Error("no scripts: skipVerify is set")
	}
}

// mysql and postgresql are the dialects of two families.
var mysql, postgresql = databases.Of("u@tcp(db)/").Dialect(), databases.Of("postgres://u@db/").Dialect()

func TestDatabaseServer(t *testing.T) {
	no := errors.New("dial tcp: refused")
	for name, c := range map[string]struct {
		database Database
		state    State
		words    string
	}{
		"no DSN":       {Database{DSNErr: errors.New("read DSN: bad")}, Lacking, "read DSN: bad"},
		"not there":    {Database{Name: "u@db", Err: no}, Lacking, "database u@db cannot be used: refused"},
		"full":         {Database{Dialect: mysql, Name: "u@db", Err: no, Full: true}, Lacking, "cannot be used"},
		"MySQL 9":      {Database{Dialect: mysql, Facts: database.Facts{Version: "9.7.4"}}, OK, ""},
		"MySQL 8":      {Database{Dialect: mysql, Facts: database.Facts{Version: "8.0.36-28"}}, OK, ""},
		"MySQL 5":      {Database{Dialect: mysql, Facts: database.Facts{Version: "5.7.44-log"}}, Warning, "version 5.7.44-log"},
		"MySQL 10":     {Database{Dialect: mysql, Facts: database.Facts{Version: "10.0.1"}}, Warning, "was not tested"},
		"MariaDB 10.5": {Database{Dialect: mysql, Facts: database.Facts{Version: "10.5.9-MariaDB"}}, Warning, "10.5.9"},
		"MariaDB 10.6": {Database{Dialect: mysql, Facts: database.Facts{Version: "10.6.1-MariaDB-log"}}, OK, ""},
		"MariaDB 11":   {Database{Dialect: mysql, Facts: database.Facts{Version: "11.4.2-MariaDB"}}, OK, ""},
		"unknown":      {Database{Dialect: mysql, Facts: database.Facts{Version: ""}}, Warning, "was not tested"},

		"PostgreSQL 13": {Database{Dialect: postgresql, Facts: database.Facts{Version: "13.4"}}, Warning, "was not tested"},
		"PostgreSQL 15": {Database{Dialect: postgresql, Facts: database.Facts{Version: "15.18 (Debian 15.18-0+deb12u1)"}}, OK, ""},
	} {
		t.Run(name, func(t *testing.T) { expect(t, databaseServer(c.database), c.state, c.words) })
	}
	if !strings.Contains(databaseServer(Database{Dialect: mysql, Err: no, Full: true}).Remedy, "SET GLOBAL max_connections") {
		t.Error("the remedy does not raise the limit")
	}
	if f := databaseServer(Database{Dialect: postgresql, Err: no, Full: true}); !strings.Contains(f.Remedy, "ALTER SYSTEM SET max_connections = N; and restart it") {
		t.Errorf("%+v", f)
	}
	expect(t, noDatabase([]Load{{}}), Warning, "no waits: no database was named")
	expect(t, noDatabase([]Load{{}, {Profile: spec.Profile{Name: "needy", Needs: []string{"db"}}}}), Lacking, "profile needy needs the database")
	expect(t, noDatabase([]Load{{Profile: spec.Profile{Name: "paid", Flows: []spec.Flow{{Ledger: &spec.Ledger{}}}}}}), Lacking, "profile paid has a ledger, which is read from the database, and none is named")
	flows := spec.Profile{Name: "fl", Flows: []spec.Flow{{Name: "a"}, {Name: "b", Ledger: &spec.Ledger{}}}}
	expect(t, noDatabase([]Load{{Profile: flows}}), Lacking, "profile fl has a ledger")
	denied := Database{Dialect: mysql, Ledgers: map[string]Ledger{"fl, flow b": {Read: errors.New("denied")}}}
	for _, f := range (Subject{Loads: []Load{{Profile: flows}}}).databaseFindings(denied, service.Pool{}) {
		if f.Check == CheckLedger {
			expect(t, f, Lacking, "ledger of profile fl, flow b cannot be read: denied")
			return
		}
	}
	t.Error("the ledger of a flow is not judged")
}

func TestConnections(t *testing.T) {
	d := func(limit, others int) Database {
		return Database{Dialect: mysql, Name: "u@db", Facts: database.Facts{Limit: limit, Connected: others}}
	}
	for name, c := range map[string]struct {
		database Database
		pool     service.Pool
		sizes    []Size
		state    State
		words    string
	}{
		"not known":                 {d(0, 0), service.Pool{}, []Size{small}, Warning, "cannot be read"},
		"none":                      {d(10, 11), service.Pool{}, []Size{small}, Lacking, "0 of 10 connections left, and the run itself needs 3"},
		"one":                       {d(10, 9), service.Pool{}, []Size{small}, Lacking, "1 of 10"},
		"two":                       {d(10, 8), service.Pool{}, []Size{small}, Lacking, "2 of 10"},
		"two of PostgreSQL":         {Database{Dialect: postgresql, Facts: database.Facts{Limit: 10, Connected: 8}}, service.Pool{}, []Size{small}, Warning, "the run and the service may need 7"},
		"three":                     {d(10, 7), service.Pool{}, []Size{small}, Warning, "the run and the service may need 8"},
		"seven":                     {d(10, 3), service.Pool{}, []Size{small}, Warning, "7 of 10"},
		"a handful":                 {d(10, 2), service.Pool{}, []Size{small}, OK, ""},
		"a pool that may grow":      {d(100, 60), service.Pool{Known: true, Open: 10, Max: 50}, []Size{small}, Warning, "may need 48"},
		"a pool that is fully open": {d(100, 60), service.Pool{Known: true, Open: 50, Max: 50}, []Size{small}, OK, ""},
		"a pool without limit":      {d(100, 60), service.Pool{Known: true, Open: 10}, []Size{small}, OK, ""},
		"the script's own":          {d(20, 4), service.Pool{}, []Size{small, withSQL}, Warning, "may need 18"},
	} {
		t.Run(name, func(t *testing.T) { expect(t, connections(c.database, c.pool, c.sizes), c.state, c.words) })
	}
}

func TestWaits(t *testing.T) {
	for name, c := range map[string]struct {
		database Database
		state    State
		words    string
		remedy   string
	}{
		"seen":      {Database{}, OK, "", ""},
		"more":      {Database{Waits: sampling.Examination{Hints: []string{"a hint"}}}, OK, "", ""},
		"off":       {Database{Waits: sampling.Examination{Disabled: 7}}, OK, "", ""},
		"no rights": {Database{Name: "u@db", WaitsErr: fmt.Errorf("x: %w", &sampling.RightsError{Err: errors.New("read: denied"), SQL: "GRANT x"})}, Warning, "no waits: denied", "run as an administrator: GRANT x"},
		"no schema": {Database{WaitsErr: &sampling.BlindError{Why: "performance_schema is off in mysql 9", Remedy: "restart the server with it"}}, Warning, "no waits: performance_schema is off in mysql 9", "restart the server with it"},
		"may not":   {Database{Waits: sampling.Examination{Disabled: 7, Notes: []string{"database: 7 rows are off; run as an administrator: UPDATE y;"}}}, Warning, "7 rows are off", "run as an administrator: UPDATE y;"},
		"shared":    {Database{Waits: sampling.Examination{Notes: []string{sampling.SharedServer}}}, Warning, sampling.SharedServer, ""},
	} {
		t.Run(name, func(t *testing.T) {
			all := waits(c.database)
			if len(all) != 1 || all[0].State != c.state || !strings.Contains(all[0].Why, c.words) || all[0].Remedy != c.remedy {
				t.Errorf("%+v", all)
			}
		})
	}
}

// What a killed run has left on is lacking, with what restores it, and keeps no run from
// starting. What a run costs is a warning.
func TestBurdens(t *testing.T) {
	left := Database{Waits: sampling.Examination{
		Left:    "database: 7 instruments are on; run as an administrator: UPDATE y;",
		Burdens: []string{"database: it is logged; run as an administrator: GRANT x;"},
	}}
	all := burdens(left)
	if len(all) != 2 || all[0].State != Lacking || all[0].Remedy != "run as an administrator: UPDATE y;" || all[1].State != Warning || all[1].Why != "database: it is logged" {
		t.Errorf("%+v", all)
	}
	if f, prevents := all.Lacking(); prevents {
		t.Errorf("a run cannot start because of %+v", f)
	}
	var text strings.Builder
	if err := all.WriteText(&text); err != nil || !strings.Contains(text.String(), "\nlacking: 1, warnings: 1; a run can start\n") {
		t.Errorf("%s, %v", text.String(), err)
	}
	if none := burdens(Database{}); len(none) > 0 {
		t.Errorf("nothing is left, nothing is logged: %+v", none)
	}
}

func TestLedger(t *testing.T) {
	slow := fmt.Errorf("no answer within 3s: %w", context.DeadlineExceeded)
	denied := errors.New("read: denied")
	for name, c := range map[string]struct {
		tried Ledger
		state State
		words string
	}{
		"works":              {Ledger{}, OK, ""},
		"cannot be read":     {Ledger{Read: denied}, Lacking, "ledger of profile p cannot be read: denied"},
		"is read slowly":     {Ledger{Read: slow}, Warning, "reading the ledger of profile p is slow: timed out"},
		"cannot be cleaned":  {Ledger{Clean: denied}, Lacking, "ledger of profile p cannot be cleaned up: denied"},
		"is cleaned slowly":  {Ledger{Clean: slow}, Warning, "cleaning up the ledger of profile p is slow: timed out"},
		"scans":              {Ledger{Scan: database.Scan{Table: "many", Rows: 2_000_000}}, Warning, "cleaning up the ledger of profile p reads all of table many, about 2000000 rows"},
		"cannot be and slow": {Ledger{Read: denied, Clean: slow}, Lacking, "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) { expect(t, ledgerFinding("p", "thresholds.json", c.tried), c.state, c.words) })
	}
}

// One that cannot be checked keeps a run from starting, whatever is slow.
func TestInvariants(t *testing.T) {
	p := spec.Profile{Name: "p", Invariants: []spec.Invariant{{Name: "a"}, {Name: "b"}}}
	slow, denied := fmt.Errorf("no answer within 3s: %w", context.DeadlineExceeded), errors.New("read: denied")
	expect(t, noDatabase([]Load{{Profile: p}}), Lacking, "profile p has invariants, which are checked in the database, and none is named")
	expect(t, invariants(p, "thresholds.json", []error{nil, nil}), OK, "")
	expect(t, invariants(p, "thresholds.json", []error{slow, nil}), Warning, `invariant "a" of profile p is slow to be explained: timed out`)
	expect(t, invariants(p, "thresholds.json", []error{slow, denied}), Lacking, `invariant "b" of profile p cannot be checked: denied`)
}

// An unreachable view is only a warning.
func TestInflux(t *testing.T) {
	f := influxFinding(View{Name: "x", Err: hint.With(errors.New("dial: refused"), "start it")})
	expect(t, f, Warning, "cannot be watched live: dial: refused")
	if f.Remedy != "start it" {
		t.Errorf("the remedy is %q", f.Remedy)
	}
	expect(t, influxFinding(View{Name: "x (database assay)"}), OK, "")
}

func TestScriptFinding(t *testing.T) {
	expect(t, scriptFinding("p", "p.js", script{}), OK, "")
	f := scriptFinding("p", "p.js", script{err: hint.With(errors.New("p.js: no"), "do")})
	expect(t, f, Lacking, "p.js: no")
	if f.Remedy != "do" || f.Profile != "p" {
		t.Errorf("%+v", f)
	}
	expect(t, scriptFinding("p", "p.js", script{err: errors.New("too long")}), Lacking, "too long")
}

// A script that sleeps is explained; others are not mentioned.
func TestSleepFinding(t *testing.T) {
	f, sleeps := sleepFinding("p", []string{"p.js", "lib/a.js"})
	if expect(t, f, Warning, "p.js, lib/a.js call sleep() of k6"); !sleeps || !strings.Contains(f.Remedy, "think()") || f.Limitation == "" {
		t.Errorf("%+v", f)
	}
	f, thinks := thinkFinding("p", []string{"p.js"})
	if expect(t, f, Warning, "p.js calls think()"); !thinks || !strings.Contains(f.Remedy, `"think": "5s"`) {
		t.Errorf("%+v", f)
	}
	if f, thinks := thinkFinding("p", nil); thinks {
		t.Errorf("%+v", f)
	}
	if f, sleeps := sleepFinding("p", nil); sleeps {
		t.Errorf("%+v", f)
	}
}
