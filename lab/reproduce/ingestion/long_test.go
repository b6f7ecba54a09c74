//go:build long

package ingestion_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/spf13/pflag"

	"assay.dev/assay/internal/judge/page"
	"assay.dev/assay/internal/run"
	"assay.dev/assay/internal/testing/mysqldtest"
	"assay.dev/assay/internal/testing/workertest"
	"assay.dev/assay/internal/thresholds"
	"assay.dev/assay/internal/trial"
	"assay.dev/assay/internal/wire"
	"assay.dev/assay/lab/reproduce"
	"assay.dev/assay/lab/reproduce/ingestion"
	"assay.dev/assay/lab/target"
)

// TestMain lets the test binary also be the workers and the reference service.
func TestMain(m *testing.M) {
	workertest.Main(wire.Tool{})
	if len(os.Args) > 1 && os.Args[1] == "target" {
		if err := serve(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// serve is `assay-lab target`.
func serve(args []string) error {
	config := target.DefaultConfig()
	flags := pflag.NewFlagSet("target", pflag.ContinueOnError)
	config.Flags(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	config.DSN = os.Getenv("ASSAY_DB")
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	return target.Run(ctx, config, slog.New(slog.NewTextHandler(os.Stderr, nil)), func(string) {})
}

// All modes are measured with the flags that they stand for, and what was acknowledged is
// compared with what is stored in each.
func TestLongIngestion(t *testing.T) {
	server := mysqldtest.Start(t, "mariadb")
	dsn, err := mysql.ParseDSN(server.DSN())
	if err != nil {
		t.Fatal(err)
	}
	dsn.DBName = "shop"
	file, err := thresholds.Read(t.Context(), filepath.Join("..", "..", "..", "thresholds.json"))
	if err != nil {
		t.Fatal(err)
	}
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	d, err := ingestion.Run(t.Context(), ingestion.Options{
		Options: reproduce.Options{
			Dir: t.TempDir(), Quick: true, Seed: 1,
			Shared: run.Options{
				Task: run.Task{File: file, Workers: 1}, System: run.System{DSN: dsn.FormatDSN()}, Executable: executable,
				Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
			},
			Console: &trial.Console{W: os.Stderr, Once: true},
		},
		ServiceDSN: dsn.FormatDSN(), Rate: 60,
	})
	if err != nil || len(d.Problems) > 0 {
		t.Fatalf("%v, %q", err, d.Problems)
	}
	if len(d.Modes) != 6 || d.Rate != 60 {
		t.Fatalf("%d modes at %g/s", len(d.Modes), d.Rate)
	}
	for _, m := range d.Modes {
		c := m.Certificate
		if c.Ledger == nil || c.Ledger.Acknowledged == 0 {
			t.Errorf("%s: ledger %+v", m.Name, c.Ledger)
		} else if !strings.Contains(m.Name, "killed") && c.Ledger.Missing != 0 {
			t.Errorf("%s: %d missing", m.Name, c.Ledger.Missing)
		}
		if c.Rate.Target != 60 || c.Errors == nil {
			t.Errorf("%s: %+v, errors %v", m.Name, c.Rate, c.Errors)
		}
	}
	text := string(page.Markdown(ingestion.Page(d)))
	for _, m := range d.Modes {
		if strings.Count(text, m.Name) < 4 {
			t.Errorf("the page has too little of %s:\n%s", m.Name, text)
		}
	}
	t.Log(text)
}
