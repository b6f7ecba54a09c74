package model

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"text/template"
	"time"

	"assay/harness/spec"
)

// How SLOs are proposed. They are a starting point: what the log shows, with room.
const (
	room         = 1.5  // times the measured percentile
	leastLatency = 50.0 // ms: of an ordinary generator's delays a tighter bound may decide the verdict
	defaultP95   = 500  // ms, where the log has no request times
	// The bound of the share of requests that fail. If more than mostFailed of the log's did,
	// they show no share to allow, and it is leastErrors.
	leastErrors, mostErrors, mostFailed = 0.01, 0.9, 0.5
)

// longestLatency is the largest bound of a latency that thresholds.json takes, in ms.
const longestLatency = float64(spec.MaxDuration / time.Millisecond)

//go:embed thresholds.json.tmpl
var thresholdsText string

var thresholdsTemplate = template.Must(template.New("thresholds").Funcs(template.FuncMap{"json": inJSON}).Parse(thresholdsText))

// thresholds is what a file of a profile with flows shows. It is a template and no encoded
// document because people edit it: a stage is a line.
type thresholds struct {
	Schema, Name, Description string
	Flows                     []thresholdsFlow
	Failed                    string // SLO of http_req_failed
}

type thresholdsFlow struct {
	Name, Script string
	Stages       []thresholdsStage
	SLO          []string
}

type thresholdsStage struct {
	Rate      float64
	Ramp, For int64 // s
	Judge     bool
}

// Thresholds is the profile as a file; schema is the path of its schema.
func Thresholds(d Document, schema string) ([]byte, error) {
	t := thresholds{Schema: schema, Name: d.Profile, Description: describe(d)}
	for _, f := range d.Flows {
		flow := thresholdsFlow{Name: f.Name, Script: f.Script, SLO: latencySLO(f.Latency)}
		for i, s := range d.Stages {
			flow.Stages = append(flow.Stages, thresholdsStage{f.Stages[i], s.Ramp, s.For, s.Judge})
		}
		t.Flows = append(t.Flows, flow)
	}
	t.Failed = "rate<" + plain(mostFailing(failedOf(d)))
	var b bytes.Buffer
	err := thresholdsTemplate.Execute(&b, t)
	return b.Bytes(), err
}

// inJSON is a value in JSON; p(95)<250 stays readable.
func inJSON(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return strings.TrimSpace(b.String()), err
}

// failedOf is the share of the requests that failed, over all flows.
func failedOf(d Document) (share float64) {
	for _, f := range d.Flows {
		share += f.Errors * f.Share
	}
	return share
}

// mostFailing is the share of requests that may fail, where a share of the log's did.
func mostFailing(failed float64) float64 {
	if failed > mostFailed {
		return leastErrors
	}
	return min(mostErrors, max(leastErrors, roundUp(2*failed)))
}

// latencySLO is what a flow's transactions are allowed.
func latencySLO(l *Latency) []string {
	if l == nil {
		return []string{fmt.Sprintf("p(95)<%d", defaultP95)}
	}
	bound := func(measured float64) float64 { return min(longestLatency, roundUp(max(leastLatency, room*measured))) }
	return []string{"p(95)<" + plain(bound(l.P95)), "p(99)<" + plain(bound(l.P99))}
}

// plain is a number without an exponent, as conditions have it.
func plain(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// roundUp rounds up to the next of 1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8 times a power of ten.
func roundUp(v float64) float64 {
	if v <= 0 {
		return 0
	}
	exponent := math.Floor(math.Log10(v))
	unit, inverse := math.Pow(10, exponent), math.Pow(10, -exponent)
	for _, step := range []float64{10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100} {
		up := step * unit / 10
		if exponent < 0 { // dividing gives the shortest decimal
			up = step / (10 * inverse)
		}
		if v <= up*(1+1e-9) {
			return up
		}
	}
	return 10 * unit
}

// describe says where the profile comes from.
func describe(d Document) string {
	text := fmt.Sprintf("Proposed by assay model from %d requests of %s to %s: the peak minute had %g/s", d.Requests, d.Window.Start, d.Window.End, d.Rates.PeakMinute.Rate)
	if d.Scale != 1 {
		text += fmt.Sprintf(", here times %g", d.Scale)
	}
	var edit []string
	for _, f := range d.Flows {
		if f.Writes {
			edit = append(edit, f.Script)
		}
	}
	if len(edit) > 0 {
		text += ". Edit first, as nothing is sent before: " + strings.Join(edit, ", ")
	}
	if len(d.MayBeNames) > 0 {
		text += ". Read before you pass it on: " + mayBeNames(d)
	}
	return text + ". One transaction is one request"
}
