//go:build live

package sql_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	driver "github.com/go-sql-driver/mysql"

	"assay.dev/assay/internal/load/k6"
	"assay.dev/assay/internal/testing/mysqldtest"
)

// TestMain also runs k6, when the test binary is re-executed with the argument k6.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "k6" {
		k6.Main(os.Args[2:])
	}
	os.Exit(m.Run())
}

// sample is a line of k6's JSON output.
type sample struct {
	Type, Metric string
	Data         struct {
		Value float64
		Tags  map[string]string
	}
}

// runScript runs a script with these variables, NAME=value, and returns its samples, and
// the messages of console.log. It must end with this exit code.
func runScript(t *testing.T, code int, script string, args []string, env ...string) (samples []sample, log string) {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	lines := filepath.Join(t.TempDir(), "samples.json")
	cmd := exec.CommandContext(t.Context(), executable, append(append([]string{"k6", "run", "--quiet", "--no-color", "-o", "json=" + lines}, args...), script)...)
	cmd.Env = append(os.Environ(), append(env, "K6_NO_USAGE_REPORT=true")...)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	_ = cmd.Run() // the exit code says it
	log = output.String()
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Fatalf("%s exits with %d, want %d:\n%s", script, got, code, log)
	}
	if code != 0 { // it may not even have begun
		return nil, log
	}
	in, err := os.Open(lines)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	for scanner := bufio.NewScanner(in); scanner.Scan(); {
		var s sample
		if err := json.Unmarshal(scanner.Bytes(), &s); err != nil {
			t.Fatal(err)
		}
		if s.Type == "Point" {
			samples = append(samples, s)
		}
	}
	return samples, log
}

// values are those of the samples of a metric with these tags, key=value.
func values(samples []sample, metric string, tags ...string) (all []float64) {
next:
	for _, s := range samples {
		for _, tag := range tags {
			key, value, _ := strings.Cut(tag, "=")
			if s.Data.Tags[key] != value {
				continue next
			}
		}
		if s.Metric == metric {
			all = append(all, s.Data.Value)
		}
	}
	return all
}

func sum(all []float64) (total float64) {
	for _, v := range all {
		total += v
	}
	return total
}

// inSchema makes a schema, and returns root's DSN with it.
func inSchema(t *testing.T, dsn, schema string) string {
	t.Helper()
	mysqldtest.Exec(t, mysqldtest.Open(t, dsn), "CREATE DATABASE "+schema)
	return withSchema(t, dsn, schema)
}

// withSchema is a DSN with a schema that exists.
func withSchema(t *testing.T, dsn, schema string) string {
	t.Helper()
	c, err := driver.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	c.DBName = schema
	return c.FormatDSN()
}

// number is the only value of a query.
func number(t *testing.T, dsn, query string) (n int) {
	t.Helper()
	if err := mysqldtest.Open(t, dsn).QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func contains(t *testing.T, log, want string) {
	t.Helper()
	if !strings.Contains(log, want) {
		t.Errorf("the log does not say %q:\n%s", want, log)
	}
}
