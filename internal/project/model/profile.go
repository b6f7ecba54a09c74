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

// thresholdsTemplate is a template and no encoded document because people edit the file: a
// stage is a line.
var thresholdsTemplate = template.Must(template.New("thresholds").Funcs(template.FuncMap{"json": inJSON}).Parse(thresholdsText))

// Thresholds is the profile as a file; schema is the path of its schema.
func Thresholds(d Document, schema string) ([]byte, error) {
	var b bytes.Buffer
	err := thresholdsTemplate.Execute(&b, struct {
		Document
		Schema, Description string
	}{d, schema, describe(d)})
	return b.Bytes(), err
}

// SLOs are the flow's, in the order in which people read them.
func (f Flow) SLOs() (all []string) {
	for _, metric := range []string{durationMetric, failedMetric} {
		if of := f.SLO[metric]; len(of) > 0 {
			all = append(all, fmt.Sprintf(`"%s": ["%s"]`, metric, strings.Join(of, `", "`)))
		}
	}
	return all
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
