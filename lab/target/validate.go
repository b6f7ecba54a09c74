package target

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"assay.dev/assay/lab/target/otlp"
)

// Validate checks the configuration. Its errors name the flag.
func (c Config) Validate() error {
	if err := validateListen(c.Listen, c.AllowRemote); err != nil {
		return err
	}
	if c.DSN == "" {
		return errors.New("no database: set ASSAY_DB to user:password@tcp(host:port)/database")
	}
	if err := new(Commits).Set(string(c.Commits)); err != nil {
		return fmt.Errorf("--commits %s: %w", c.Commits, err)
	}
	if err := new(Ingest).Set(string(c.Ingest)); err != nil {
		return fmt.Errorf("--ingest %s: %w", c.Ingest, err)
	}
	for _, check := range []struct {
		ok   bool
		flag string
		want string
	}{
		{c.BatchSize >= 1 && c.BatchSize <= 1000, "--batch-size", "1 to 1000"},
		{c.BatchWait >= 0 && c.BatchWait <= time.Second, "--batch-wait", "0 to 1s"},
		{c.Accounts >= 1 && c.Accounts <= Accounts, "--accounts", fmt.Sprintf("1 to %d", Accounts)},
		{c.Pool.MaxOpen >= 0, "--pool-max-open", "0 or more"},
		{c.Pool.MaxIdle >= -1, "--pool-max-idle", "-1 or more"},
		{c.Pool.MaxLifetime >= 0, "--pool-max-lifetime", "0 or more"},
		{c.Capacity.Slots >= 0, "--capacity", "0 or more"},
		{c.Capacity.Most == 0 || c.Capacity.Slots > 0 && c.Capacity.Most >= c.Capacity.Slots, "--capacity-max", "0, or --capacity or more"},
		{c.Capacity.Boot >= 0, "--boot", "0 or more"},
		{c.Capacity.After >= 0, "--scale-after", "0 or more"},
		{c.Capacity.DownAfter > 0, "--scale-down-after", "more than 0"},
		{c.Capacity.Work >= 0 && c.Capacity.Work < c.RequestTimeout, "--work", "0 or more, and less than --request-timeout"},
		{c.Reconcile.After >= 0 && c.Reconcile.After <= time.Hour, "--reconcile-after", "0 to 1h"},
		{c.Reconcile.Every > 0, "--reconcile-every", "more than 0"},
		{c.Reconcile.Batch >= 1 && c.Reconcile.Batch <= 1000, "--reconcile-batch", "1 to 1000"},
		{c.Notify.Every > 0, "--notify-every", "more than 0"},
		{c.Notify.Batch >= 1 && c.Notify.Batch <= 10_000, "--notify-batch", "1 to 10000"},
		{c.Notify.Latency >= 0, "--notify-latency", "0 or more"},
		{c.IngestBatch >= 1 && c.IngestBatch <= 5000, "--ingest-batch", "1 to 5000"},
		{c.IngestWait >= 0 && c.IngestWait <= time.Second, "--ingest-wait", "0 to 1s"},
		{c.IngestQueue >= 1, "--ingest-queue", "1 or more"},
		{c.Ingest != IngestKafka || strings.TrimSpace(c.Kafka.Topic) != "", "--kafka-topic", "a topic"},
		{c.Ingest != IngestKafka || strings.TrimSpace(c.Kafka.Group) != "", "--kafka-group", "a consumer group"},
		{c.MaxOpenFiles == 0 || c.MaxOpenFiles >= minOpenFiles, "--max-open-files", fmt.Sprintf("0, or %d or more", minOpenFiles)},
		{c.RequestTimeout > 0, "--request-timeout", "more than 0"},
		{c.DrainTimeout > 0, "--drain-timeout", "more than 0"},
	} {
		if !check.ok {
			return fmt.Errorf("%s: want %s", check.flag, check.want)
		}
	}
	if c.OTLP != "" {
		if err := otlp.CheckURL(c.OTLP); err != nil {
			return fmt.Errorf("--otlp: %w", err)
		}
	}
	return c.Gateway.Validate()
}

// validateListen allows loopback addresses only, unless remote is allowed: the service
// has no authentication.
func validateListen(addr string, remote bool) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("--listen %s: want host:port: %w", addr, err)
	}
	if remote || host == "localhost" {
		return nil
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("--listen %s: not a loopback address; add --allow-remote to serve other hosts", addr)
}
