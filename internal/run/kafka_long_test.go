//go:build long

package run_test

import (
	"testing"
	"time"

	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/metric"
)

// The queue behind fast responses is in Kafka: only the lag of its consumer shows that the
// service does not keep up. What is late is not lost.
func TestLongConsumerFallsBehind(t *testing.T) {
	t.Parallel()
	cpus(t, 0.35)
	kafka := broker(t)
	s := serve(t, "mysql", behind(kafka)...)
	s.slowRows(t, 50*time.Millisecond) // 80 a second by four writers
	r := certify(t, s.throughKafka(t, kafka, 140, 5*time.Second))
	v := verdict.Judge(r)
	if v.Outcome != verdict.Fail && v.Outcome != verdict.Invalid {
		t.Errorf("%s: %s", v.Outcome, v.Claim)
	}
	for name, want := range map[string]verdict.Outcome{metric.TransactionDuration: verdict.Pass, metric.ConsumerLag: verdict.Fail, metric.Ledger: verdict.Pass} {
		if got := outcomeOf(v, name, ""); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	if n := s.rows(t)["events"]; n != "0" {
		t.Errorf("%s rows after the cleanup", n)
	}
	d, _ := metric.Find(metric.ConsumerLag)
	line, _ := verdict.Readings(r.Timeline, d, v.Judged[0])
	t.Logf("lag by second %v", line)
}
