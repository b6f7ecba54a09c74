package spec

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// reader turns nodes into values and gathers what is wrong, so that decoding
// reads as a list of keys; the error that stands first in the file is told.
type reader struct {
	path   string
	data   []byte
	faults []fault
}

type fault struct {
	offset int
	err    *Error
}

func (r *reader) first() error {
	if len(r.faults) == 0 {
		return nil
	}
	slices.SortStableFunc(r.faults, func(a, b fault) int { return cmp.Compare(a.offset, b.offset) })
	return r.faults[0].err
}

func (r *reader) fail(n *node, problem, hint string) { r.failAt(n.offset, n.place(), problem, hint) }

func (r *reader) failAt(offset int, place, problem, hint string) {
	err := &Error{Path: r.path, Line: lineOf(r.data, offset), Place: place, Problem: problem, Hint: hint}
	r.faults = append(r.faults, fault{offset, err})
}

func (r *reader) position(n *node) Position { return Position{r.path, lineOf(r.data, n.offset)} }

var kindWords = map[jsontext.Kind]string{
	jsontext.KindNull: "null", jsontext.KindTrue: "true", jsontext.KindFalse: "false",
	jsontext.KindString: "a string", jsontext.KindNumber: "a number",
	jsontext.KindBeginObject: "an object", jsontext.KindBeginArray: "a list",
}

func (r *reader) is(n *node, kind jsontext.Kind, example string) bool {
	if n.kind == kind {
		return true
	}
	hint := ""
	if example != "" {
		hint = "write for example " + example
	}
	r.fail(n, fmt.Sprintf("want %s, not %s", kindWords[kind], kindWords[n.kind]), hint)
	return false
}

// example says, for each key of the format, what a value looks like.
var example = map[string]string{
	"version": `"version": 1`, "profiles": `"profiles": {"payment": {...}}`, "targets": `"targets": ["staging.example"]`,
	"description": `"description": "card payments"`, "scenario": `"scenario": "scenarios/payment.js"`,
	"load": `"load": {...}`, "timeout": `"timeout": "10s"`, "slo": `"slo": {"transaction_duration": ["p(95)<250"]}`,
	"ledger":        `"ledger": {"persisted": "SELECT id, persisted_at FROM payments WHERE run_id = ?"}`,
	"binlog_reader": `"binlog_reader": {"metric": "debezium_metrics_MilliSecondsBehindSource", "url": "http://127.0.0.1:9404/metrics"}`,
	"sql":           `"sql": "SELECT lag_ms FROM cdc_progress"`, "metric": `"metric": "debezium_metrics_MilliSecondsBehindSource"`, "url": `"url": "http://127.0.0.1:9404/metrics"`,
	"abort": `"abort": {"http_req_failed": "rate>0.5 for 10s"}`, "needs": `"needs": ["db"]`, "rules": `"rules": {}`,
	"unit": `"unit": "tps"`, "target": `"target": 100`, "warmup": `"warmup": "5s"`, "ramp": `"ramp": "15s"`,
	"baseline": `"baseline": {"rate": 25, "for": "20s"}`, "hold": `"hold": "60s"`, "cooldown": `"cooldown": "5s"`,
	"spacing": `"spacing": "poisson"`, "stages": `"stages": [{"rate": 100, "for": "60s", "judge": true}]`,
	"rate": `"rate": 25`, "for": `"for": "20s"`, "judge": `"judge": true`,
	"persisted":       `"persisted": "SELECT id, persisted_at FROM payments WHERE run_id = ?"`,
	"cleanup":         `"cleanup": "DELETE FROM payments WHERE run_id = ?"`,
	"generator-drops": `"generator-drops": 0.001`, "generator-lag": `"generator-lag": 0.005`, "generator-cpu": `"generator-cpu": 0.8`,
	"collector": `"collector": {"share": 0.99, "gap": "2s"}`, "share": `"share": 0.99`, "gap": `"gap": "2s"`,
	"$schema": `"$schema": "thresholds.schema.json"`,

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

func exampleOf(n *node) string {
	switch {
	case n.parent == nil:
		return `{"version": 1, "profiles": {...}}`
	case n.name == "sql" && n.parent.parent != nil && n.parent.parent.name == "variants":
		return `"sql": {"apply": ["..."], "revert": ["..."]}`
	case n.parent.name == "slo":
		return `"transaction_duration": ["p(95)<250"]`
	}
	return example[n.name]
}

// object checks that n is an object with all required keys and none but those
// and the optional ones.
func (r *reader) object(n *node, required, optional []string) bool {
	if !r.is(n, jsontext.KindBeginObject, exampleOf(n)) {
		return false
	}
	ok := true
	known := slices.Concat(required, optional)
	for _, c := range n.children {
		if !slices.Contains(known, c.name) {
			r.failAt(c.nameAt, n.place(), unknown("key", c.name, known), "keys here: "+strings.Join(known, ", "))
			ok = false
		}
	}
	if !ok {
		return false // a missing key is most likely the misspelt one
	}
	for _, key := range required {
		if n.get(key) == nil {
			r.fail(n, fmt.Sprintf("missing key %q", key), "add "+example[key])
			ok = false
		}
	}
	return ok
}

// text reads a string that is not blank.
func (r *reader) text(n *node) string {
	if !r.is(n, jsontext.KindString, exampleOf(n)) {
		return ""
	}
	if strings.TrimSpace(n.text) == "" {
		hint := ""
		if example := exampleOf(n); example != "" {
			hint = "write for example " + example
		}
		r.fail(n, "is empty", hint)
	}
	return n.text
}

func (r *reader) number(n *node) float64 {
	if !r.is(n, jsontext.KindNumber, exampleOf(n)) {
		return 0
	}
	v, err := strconv.ParseFloat(n.text, 64)
	if err != nil {
		r.fail(n, fmt.Sprintf("number %s is out of range", n.text[:min(len(n.text), quoteLimit)]), "")
	}
	return v
}

func (r *reader) duration(n *node) time.Duration {
	if !r.is(n, jsontext.KindString, exampleOf(n)) {
		return 0
	}
	d, err := time.ParseDuration(n.text)
	if err != nil {
		r.fail(n, fmt.Sprintf("%s is not a duration", quote(n.text)), `write for example "5s", "90s" or "10m"`)
	}
	return d
}

func (r *reader) bool(n *node) bool {
	if n.kind == jsontext.KindTrue || n.kind == jsontext.KindFalse {
		return n.kind == jsontext.KindTrue
	}
	r.fail(n, fmt.Sprintf("want true or false, not %s", kindWords[n.kind]), "")
	return false
}

// oneOf reads a string that must be one of the given words.
func (r *reader) oneOf(n *node, what string, words ...string) string {
	if !r.is(n, jsontext.KindString, exampleOf(n)) {
		return ""
	}
	if !slices.Contains(words, n.text) {
		r.fail(n, unknown(what, n.text, words), "known: "+strings.Join(words, ", "))
	}
	return n.text
}

// list checks that n is a list and gives its elements.
func (r *reader) list(n *node) []*node {
	if !r.is(n, jsontext.KindBeginArray, exampleOf(n)) {
		return nil
	}
	return n.children
}
