package target

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"assay.dev/assay/lab/target/gateway"
)

func TestValidate(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Config)
		want   string // part of the error; "" = valid
	}{
		"defaults":         {func(*Config) {}, ""},
		"IPv6 loopback":    {func(c *Config) { c.Listen = "[::1]:0" }, ""},
		"localhost":        {func(c *Config) { c.Listen = "localhost:0" }, ""},
		"remote":           {func(c *Config) { c.Listen = "0.0.0.0:18080" }, "--allow-remote"},
		"every interface":  {func(c *Config) { c.Listen = ":18080" }, "--allow-remote"},
		"remote allowed":   {func(c *Config) { c.Listen, c.AllowRemote = ":18080", true }, ""},
		"no port":          {func(c *Config) { c.Listen = "127.0.0.1" }, "want host:port"},
		"no database":      {func(c *Config) { c.DSN = "" }, "set ASSAY_DB"},
		"commits":          {func(c *Config) { c.Commits = "never" }, "want one of statement, transaction, batched"},
		"ingest":           {func(c *Config) { c.Ingest = "" }, "want one of direct, bulk, channel"},
		"one account":      {func(c *Config) { c.Accounts = 1 }, ""},
		"no account":       {func(c *Config) { c.Accounts = 0 }, "--accounts: want 1 to 10000"},
		"more accounts":    {func(c *Config) { c.Accounts = 10_001 }, "--accounts: want 1 to 10000"},
		"no limit":         {func(c *Config) { c.Pool.MaxOpen = 0 }, ""},
		"pool":             {func(c *Config) { c.Pool.MaxOpen = -1 }, "--pool-max-open"},
		"idle":             {func(c *Config) { c.Pool.MaxIdle = -2 }, "--pool-max-idle"},
		"lifetime":         {func(c *Config) { c.Pool.MaxLifetime = -time.Second }, "--pool-max-lifetime"},
		"batch size":       {func(c *Config) { c.BatchSize = 0 }, "--batch-size"},
		"batch wait":       {func(c *Config) { c.BatchWait = time.Minute }, "--batch-wait"},
		"ingest batch":     {func(c *Config) { c.IngestBatch = 6000 }, "--ingest-batch"},
		"queue":            {func(c *Config) { c.IngestQueue = 0 }, "--ingest-queue"},
		"open files":       {func(c *Config) { c.MaxOpenFiles = 5 }, "--max-open-files"},
		"request timeout":  {func(c *Config) { c.RequestTimeout = 0 }, "--request-timeout"},
		"gateway":          {func(c *Config) { c.Gateway.Declines = gateway.All(2) }, "--gateway-declines"},
		"reconcile after":  {func(c *Config) { c.Reconcile.After = -1 }, "--reconcile-after"},
		"reconcile every":  {func(c *Config) { c.Reconcile.Every = 0 }, "--reconcile-every"},
		"reconcile batch":  {func(c *Config) { c.Reconcile.Batch = 0 }, "--reconcile-batch"},
		"notify every":     {func(c *Config) { c.Notify.Every = 0 }, "--notify-every"},
		"notify batch":     {func(c *Config) { c.Notify.Batch = 20_000 }, "--notify-batch"},
		"notify latency":   {func(c *Config) { c.Notify.Latency = -1 }, "--notify-latency"},
		"otlp":             {func(c *Config) { c.OTLP = "http://127.0.0.1:4318" }, ""},
		"otlp no URL":      {func(c *Config) { c.OTLP = "127.0.0.1:4318" }, "--otlp: want a URL"},
		"otlp no scheme":   {func(c *Config) { c.OTLP = "grpc://127.0.0.1:4317" }, "--otlp: want a URL"},
		"otlp password":    {func(c *Config) { c.OTLP = "http://u:p@127.0.0.1:4318" }, "OTEL_EXPORTER_OTLP_HEADERS"},
		"capacity":         {func(c *Config) { c.Capacity.Slots, c.Capacity.Most = 8, 16 }, ""},
		"capacity below 0": {func(c *Config) { c.Capacity.Slots = -1 }, "--capacity: want"},
		"less than one":    {func(c *Config) { c.Capacity.Slots, c.Capacity.Most = 8, 4 }, "--capacity-max"},
		"no instance":      {func(c *Config) { c.Capacity.Most = 4 }, "--capacity-max"},
		"boot":             {func(c *Config) { c.Capacity.Boot = -1 }, "--boot"},
		"scale after":      {func(c *Config) { c.Capacity.After = -1 }, "--scale-after"},
		"scale down after": {func(c *Config) { c.Capacity.DownAfter = 0 }, "--scale-down-after"},
		"work":             {func(c *Config) { c.Capacity.Work = c.RequestTimeout }, "--work"},
		"drain timeout":    {func(c *Config) { c.DrainTimeout = 0 }, "--drain-timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			c := DefaultConfig()
			c.DSN = "root@tcp(127.0.0.1:3306)/assay"
			tc.change(&c)
			err := c.Validate()
			if tc.want == "" && err != nil {
				t.Fatal(err)
			}
			if tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Fatalf("error %v, want %q in it", err, tc.want)
			}
		})
	}
}

func TestFlags(t *testing.T) {
	c := DefaultConfig()
	fs := pflag.NewFlagSet("target", pflag.ContinueOnError)
	c.Flags(fs)
	if err := fs.Parse([]string{
		"--commits", "batched", "--ingest=channel", "--pool-max-open", "5", "--pool-per-request", "--drain=false", "--gateway-latency", "card=20", "--reconcile=false", "--notify-batch=7", "--accounts=1",
		"--capacity=8", "--capacity-max=16", "--boot=9s", "--scale-after=2s", "--scale-down-after=5m", "--work=20ms", "--log-requests",
	}); err != nil {
		t.Fatal(err)
	}
	want := DefaultConfig()
	want.Commits, want.Ingest, want.Pool.MaxOpen, want.Pool.PerRequest, want.Drain = CommitBatched, IngestChannel, 5, true, false
	want.Gateway.Latency, want.Reconcile.On, want.Notify.Batch, want.Accounts = gateway.PerMode{1, 20, 1, 1}, false, 7, 1
	want.Capacity, want.LogRequests = Capacity{8, 16, 9 * time.Second, 2 * time.Second, 5 * time.Minute, 20 * time.Millisecond}, true
	if c != want {
		t.Errorf("got %+v\nwant %+v", c, want)
	}
	if err := fs.Parse([]string{"--commits", "never"}); err == nil || !strings.Contains(err.Error(), "statement, transaction, batched") {
		t.Errorf("unknown mode: error %v names no valid one", err)
	}
}

func TestDSN(t *testing.T) {
	log := newLimitedLog(slog.New(slog.DiscardHandler))
	cfg, err := parseDSN("u:p%40ss@tcp(127.0.0.1:3306)/assay?timeout=9s&time_zone=%27SYSTEM%27&parseTime=false", log)
	if err != nil {
		t.Fatal(err)
	}
	if !cfg.ParseTime || cfg.Loc != time.UTC || cfg.Params["time_zone"] != "'+00:00'" || !cfg.InterpolateParams {
		t.Errorf("session not in UTC or arguments not interpolated: %+v", cfg.Params)
	}
	if cfg.Timeout != 9*time.Second || cfg.ReadTimeout == 0 || cfg.DBName != "assay" || cfg.Passwd != "p%40ss" {
		t.Errorf("parameters of the DSN were not kept: timeout %s, read timeout %s", cfg.Timeout, cfg.ReadTimeout)
	}
}

// The password is in no error and no log line.
func TestPasswordIsNotShown(t *testing.T) {
	for _, dsn := range []string{
		"root:hunter2@127.0.0.1/assay",
		"root:hunter2@tcp(127.0.0.1:1)/assay?parseTime=hunter2",
		"root:hunter2@tcp(127.0.0.1:1)/",
		"root:hunter2@tcp(127.0.0.1:1)/assay",
		"root:hunter2/assay@tcp",
	} {
		var out bytes.Buffer
		log := slog.New(slog.NewTextHandler(&out, nil))
		c := DefaultConfig()
		c.Listen, c.DSN = "127.0.0.1:0", dsn
		err := Run(t.Context(), c, log, func(string) {})
		if err == nil {
			t.Fatal("served without a database")
		}
		log.Info("config", "config", c)
		if text := fmt.Sprint(err) + out.String(); strings.Contains(text, "hunter2") {
			t.Errorf("secret shown: %s", text)
		}
	}
}
