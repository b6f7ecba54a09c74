package model

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"text/template"
)

//go:embed thresholds.json.tmpl
var thresholdsText string

var thresholdsTemplate = template.Must(template.New("thresholds").Funcs(template.FuncMap{"json": inJSON}).Parse(thresholdsText))

// thresholds is what a file of a profile with flows shows. It is a template and no encoded
// document because people edit it: a stage is a line.
type thresholds struct {
	Schema, Name, Description string
	Flows                     []thresholdsFlow
}

type thresholdsFlow struct {
	Name, Script string
	Stages       []thresholdsStage
	SLO          []thresholdsSLO
}

type thresholdsSLO struct {
	Metric     string
	Conditions []string
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
		flow := thresholdsFlow{Name: f.Name, Script: f.Script}
		for _, metric := range []string{durationMetric, failedMetric} {
			if of := f.SLO[metric]; len(of) > 0 {
				flow.SLO = append(flow.SLO, thresholdsSLO{metric, of})
			}
		}
		for i, s := range d.Stages {
			flow.Stages = append(flow.Stages, thresholdsStage{f.Stages[i], s.Ramp, s.For, f.Judged[i]})
		}
		t.Flows = append(t.Flows, flow)
	}
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
