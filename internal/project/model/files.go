package model

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"text/template"

	"assay.dev/assay/internal/project/model/route"
)

// Libraries are the files below scenarios/ that the scripts import.
var Libraries = []string{"scenarios/lib/identity.js", "scenarios/lib/keys.js", "scenarios/lib/random.js", "scenarios/lib/target.js"}

//go:embed script.js.tmpl
var scriptText string

var scriptTemplate = template.Must(template.New("script").Parse(scriptText))

// scriptData is what a script shows of its flow.
type scriptData struct {
	Flow      Flow
	Percent   string
	Writes    string // methods of the endpoints, if they write
	Keys      bool
	Hex, UUID bool // functions that the paths need
	Endpoints []scriptEndpoint
	LeftOut   int
}

type scriptEndpoint struct {
	Name        string // letters, digits and _
	Method      string // in quotes
	Template    string
	Weight      string
	Draw        string // draws a key; empty: it has none
	Path        string // an expression of key
	Query       string // names in the query
	KeysInQuery bool   // the path has no placeholder
}

// Scripts are the scripts of the flows by their paths.
func Scripts(d Document) (map[string][]byte, error) {
	all := map[string][]byte{}
	for _, f := range d.Flows {
		var b bytes.Buffer
		if err := scriptTemplate.Execute(&b, script(f)); err != nil {
			return nil, fmt.Errorf("write %s: %w", f.Script, err)
		}
		all[f.Script] = b.Bytes()
	}
	return all, nil
}

func script(f Flow) scriptData {
	s := scriptData{Flow: f, Percent: percent(f.Share)}
	var methods []string
	for i, e := range f.Endpoints {
		if i >= scripted {
			s.LeftOut++
			continue
		}
		if !slices.Contains(methods, e.Method) {
			methods = append(methods, e.Method)
		}
		one := scriptEndpoint{Name: e.Name, Method: quote(e.Method), Template: e.Template, Weight: percent(e.Share), KeysInQuery: true}
		var path strings.Builder
		for _, segment := range e.Segments {
			path.WriteString("/")
			if segment.Kind == route.Literal {
				path.WriteString(segment.Literal)
				continue
			}
			one.KeysInQuery = false
			switch segment.Kind {
			case route.UUID:
				s.UUID = true
				path.WriteString("${uuid(key)}")
			case route.Hex:
				s.Hex = true
				path.WriteString("${hex(key)}")
			case route.Number:
				path.WriteString("${key}")
			default:
				path.WriteString("key-${key}")
			}
			path.WriteString(segment.Suffix)
		}
		one.Path = quote(path.String())
		if strings.Contains(path.String(), "${") {
			one.Path = "`" + path.String() + "`" // segments have no characters that it would need to escape
		}
		switch {
		case e.Keys != nil:
			one.Draw = fmt.Sprintf("zipf(%g, %d)", e.Keys.Exponent, e.Keys.Total)
		case !one.KeysInQuery:
			one.Draw = "zipf(0, 1)"
		}
		s.Keys = s.Keys || one.Draw != ""
		var names []string
		for _, n := range e.Query {
			names = append(names, fmt.Sprintf("%s (%s %%)", n.Name, percent(n.Share)))
		}
		one.Query = strings.Join(names, ", ")
		s.Endpoints = append(s.Endpoints, one)
	}
	if f.Writes {
		s.Writes = strings.Join(methods, ", ")
	}
	return s
}

// percent is a share in percent, with three digits.
func percent(share float64) string { return fmt.Sprintf("%.3g", 100*share) }

// quote is a text as a literal of JavaScript, in the style of the other scripts.
func quote(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		return "''" // text is always valid
	}
	return "'" + strings.ReplaceAll(string(quoted[1:len(quoted)-1]), "'", `\'`) + "'"
}

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
