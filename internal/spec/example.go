// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// example says, for each key of the format, what a value looks like.
var example = map[string]string{
	"version": `"version": 1`, "profiles": `"profiles": {"payment": {...}}`, "targets": `"targets": ["staging.example"]`,
	"description": `"description": "card payments"`, "scenario": `"scenario": "scenarios/payment.js"`,
	"load": `"load": {"target": 100}`, "timeout": `"timeout": "10s"`, "slo": `"slo": {"transaction_duration": ["p(95)<250"]}`,
	"flows":         `"flows": {"payments": {"scenario": "scenarios/payment.js", "load": {"target": 100}, "slo": {"transaction_duration": ["p(95)<250"]}}}`,
	"think":         `"think": "5s"`,
	"overload":      `{"rate": 150, "for": "20s", "overload": true}`,
	"ledger":        `"ledger": {"persisted": "SELECT id, persisted_at FROM payments WHERE run_id = ?"}`,
	"binlog_reader": `"binlog_reader": {"metric": "debezium_metrics_MilliSecondsBehindSource", "url": "http://127.0.0.1:9404/metrics"}`,
	"consumer":      `"consumer": {"brokers": ["127.0.0.1:9092"], "group": "assay-ingest", "topic": "events"}`,
	"brokers":       `"brokers": ["127.0.0.1:9092"]`, "group": `"group": "assay-ingest"`, "topic": `"topic": "events"`,
	"sql": `"sql": "SELECT lag_ms FROM cdc_progress"`, "metric": `"metric": "debezium_metrics_MilliSecondsBehindSource"`, "url": `"url": "http://127.0.0.1:9404/metrics"`,
	"lag":    `"lag": {"metric": "ingest_oldest_event_seconds", "unit": "s"}`,
	"gauges": `"gauges": {"queue_depth": ` + gaugeExample + `}`,
	"faults": `"faults": [{"at": "30s", "node": "b", "do": "kill", "for": "20s"}]`, "at": `"at": "30s"`, "node": `"node": "b"`, "do": `"do": "kill"`,
	"run": `"do": ["ssh", "db-2", "systemctl", "kill", "-s", "KILL", "mysqld"]`, "undo": `"undo": ["ssh", "db-2", "systemctl", "start", "mysqld"], "for": "20s"`,
	"invariants": `"invariants": {"no negative balance": "SELECT id FROM accounts WHERE balance < 0"}`,
	"errors":     `"errors": "http_requests_total{code=~\"5..\"}"`, "total": `"total": "http_requests_total"`,
	"gauge": `"gauge": {"metric": "hikaricp_connections_pending"}`, "neighbour": `"neighbour": ` + neighbourExample,
	"gauge-threshold": `"threshold": "max>20 for 10s"`, "neighbour-threshold": `"threshold": "rate>0.05 for 10s"`,
	"abort": `"abort": {"http_req_failed": "rate>0.5 for 10s"}`, "needs": `"needs": ["db"]`, "env": `"env": {"WAREHOUSES": "4"}`, "rules": `"rules": {}`,
	"marking": `"marking": {"header": "X-Load-Test", "sampled": 0.01}`, "header": `"header": "X-Load-Test"`, "sampled": `"sampled": 0.01`,
	"unit": `"unit": "tps"`, "target": `"target": 100`, "warmup": `"warmup": "5s"`, "ramp": `"ramp": "15s"`,
	"baseline": `"baseline": {"rate": 25, "for": "20s"}`, "hold": `"hold": "60s"`, "hold_max": `"hold_max": "120s"`, "cooldown": `"cooldown": "5s"`,
	"spacing": `"spacing": "poisson"`, "stages": `"stages": [{"rate": 100, "for": "60s", "judge": true}]`,
	"threshold": `"threshold": "p(99.9)<1500"`, "basis": `"basis": "counted"`,
	"rate": `"rate": 25`, "for": `"for": "20s"`, "judge": `"judge": true`,
	"persisted":       `"persisted": "SELECT id, persisted_at FROM payments WHERE run_id = ?"`,
	"cleanup":         `"cleanup": "DELETE FROM payments WHERE run_id = ?"`,
	"generator-drops": `"generator-drops": 0.001`, "offered": `"offered": 0.005`, "machine": `"machine": 0.02`, "generator-cpu": `"generator-cpu": 0.8`,
	"collector": `"collector": {"share": 0.99, "gap": "2s"}`, "share": `"share": 0.9`, "gap": `"gap": "2s"`,
	"$schema": `"$schema": "thresholds.schema.json"`,
	"stubs":   `"stubs": {"bank": ` + stubRefExample + `}`, "file": `"file": "stubs/bank.json"`,

	// Of stub files.
	"listen": `"listen": "127.0.0.1:18090"`, "endpoints": `"endpoints": [{"name": "charge", "match": "POST /charge", "latency": {"p50": "20ms", "p99": "80ms"}}]`,
	"match": `"match": "POST /charge"`, "latency": `"latency": {"p50": "20ms", "p99": "80ms"}`, "p50": `"p50": "20ms"`, "p99": `"p99": "80ms"`, "fixed": `"fixed": "20ms"`,
	"status": `"status": 503`, "hang": `"hang": 0.001`, "reset": `"reset": 0.001`,
	"limit": `"limit": {"rate": 100, "burst": 20}`, "burst": `"burst": 20`, "concurrency": `"concurrency": 50`, "background": `"background": true`,
	"phases": `"phases": [{"name": "slow", "from": "60s", "for": "20s", "latency_factor": 20}]`, "latency_factor": `"latency_factor": 20`,

	// Of experiment files.
	"question": `"question": "does the binlog hold the commits up?"`, "source": `"source": "report A"`, "profile": `"profile": "payment"`,
	"pairs": `"pairs": 6`, "tolerance": `"tolerance": 0.03`, "seed": `"seed": 1`, "primary": `"primary": ["transaction p99", "database binlog"]`,
	"variants": `"variants": [{"name": "as-is"}, {"name": "binlog-off", "stack": {"database": ["--skip-log-bin"]}}]`,
	"name":     `"name": "as-is"`, "global": `"global": {"sync_binlog": "0"}`,
	"database": `"database": ["--skip-log-bin"]`, "stack": `"stack": {"database": ["--skip-log-bin"]}`, "service": `"service": ["--commits", "transaction"]`,
	"command": `"command": {"apply": ["tc", "..."], "revert": ["tc", "..."]}`, "apply": `"apply": ["..."]`, "revert": `"revert": ["..."]`,
	"binlog_readers": `"binlog_readers": 4`, "workers": `"workers": 10`,
	"capacity": `"capacity": {"from": 100, "trial": "30s"}`, "from": `"from": 100`, "max": `"max": 1000`, "trial": `"trial": "30s"`,
	"trials": `"trials": 3`, "width": `"width": 0.05`,
}

// exampleOf is the example for a value that a hint shows; empty where there is none.
func exampleOf(n *node) string {
	switch {
	case n == nil:
		return ""
	case n.parent == nil:
		return `{"version": 1, "profiles": {...}}`
	case n.name == "sql" && n.parent.parent != nil && n.parent.parent.name == "variants":
		return `"sql": {"apply": ["..."], "revert": ["..."]}`
	case n.parent.name == "abort" && n.kind == jsontext.KindBeginObject:
		return fmt.Sprintf(`"orders": {"neighbour": %s, %s}`, neighbourExample, example["neighbour-threshold"])
	case n.parent.name == "gauges":
		return fmt.Sprintf("%q: %s", n.name, gaugeExample)
	case n.parent.name == "stubs":
		return fmt.Sprintf("%q: %s", n.name, stubRefExample)
	case n.parent.name == "slo":
		return `"transaction_duration": ["p(95)<250"]`
	}
	return exampleIn(n.parent, n.name)
}

// exampleIn is the example for a key of an object.
func exampleIn(n *node, key string) string {
	if key == "threshold" && n.parent != nil && n.parent.name == "abort" {
		if n.get("gauge") != nil {
			return example["gauge-threshold"]
		}
		return example["neighbour-threshold"]
	}
	if key == "metric" && (n.name == "gauge" || n.parent != nil && n.parent.name == "gauges") {
		return strings.Trim(gaugeExample, "{}")
	}
	if like, ok := stubExample(n, key); ok {
		return like
	}
	return example[key]
}

// neighbourExample is the value of a neighbour's key.
const neighbourExample = `{"url": "http://127.0.0.1:9404/health"}`

// stubExample is the example for a key that means something else elsewhere.
func stubExample(n *node, key string) (like string, ok bool) {
	in := n.name
	if in == "" && n.parent != nil { // an element of a list
		in = n.parent.name
	}
	like, ok = map[string]string{
		"endpoints name": `"name": "charge"`, "phases name": `"name": "slow"`, "phases from": `"from": "60s"`, "phases endpoints": `"endpoints": ["charge"]`,
		"endpoints errors": `"errors": {"rate": 0.01, "status": 503}`, "phases errors": `"errors": {"rate": 0.01, "status": 503}`,
		"errors rate": `"rate": 0.01`, "limit rate": `"rate": 100`, "endpoints status": `"status": 200`,
	}[in+" "+key]
	if n.parent != nil && n.parent.name == "stubs" && key == "url" {
		return `"url": "http://127.0.0.1:18090"`, true
	}
	return like, ok
}

// stubRefExample is the value of a key of a profile's stubs.
const stubRefExample = `{"url": "http://127.0.0.1:18090", "file": "stubs/bank.json"}`

// gaugeExample is the value of a gauge's key.
const gaugeExample = `{"metric": "ingest_queue_length"}`

// exampleOfPath is the example for a key of a profile, or "gauges." and a name.
func exampleOfPath(path string) string {
	if key, name, ok := strings.Cut(path, "."); ok {
		return fmt.Sprintf("%q: {%q: %s}", key, name, gaugeExample)
	}
	return example[path]
}
