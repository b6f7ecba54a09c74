package experiment

import (
	"strings"

	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/quantity"
	"assay.dev/assay/internal/spec"
)

// Changes describes a variant's changes.
func Changes(v spec.Variant) []string {
	all := []string{}
	if len(v.Database) > 0 {
		all = append(all, "database server started with "+strings.Join(v.Database, " "))
	}
	if len(v.Service) > 0 {
		all = append(all, "service started with "+strings.Join(v.Service, " "))
	}
	for _, g := range v.Global {
		all = append(all, g.Name+" = "+g.Value)
	}
	if v.SQL != nil {
		all = append(all, v.SQL.Apply...)
	}
	if v.Command != nil {
		all = append(all, strings.Join(v.Command.Apply, " "))
	}
	if v.Readers > 0 {
		all = append(all, quantity.Number(v.Readers, "binlog reader"))
	}
	return all
}

// number formats a number in a sentence.
func number(v float64) string { return quantity.Value(v, "") }

// firstLine is the first line of an error's text, without secrets.
func firstLine(err error) string {
	line, _, _ := strings.Cut(mask.Text(err.Error()), "\n")
	return line
}

// variantsOf describes the variants of an experiment.
func variantsOf(e spec.Experiment) (all []Variant) {
	for _, v := range e.Variants {
		all = append(all, Variant{v.Name, v.Description, Changes(v)})
	}
	return all
}
