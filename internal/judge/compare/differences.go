// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/observe/record"
)

// property is a property of a run that A and B should have in common.
type property struct {
	name  string
	value func(certificate.Certificate) string
}

// loads are the properties that must be equal: ratios of runs under different loads have
// no meaning.
var loads = []property{
	{"profile", func(c certificate.Certificate) string { return c.Profile }},
	{"unit", func(c certificate.Certificate) string { return c.Rate.Unit }},
	{"target rate", func(c certificate.Certificate) string { return strconv.FormatFloat(c.Rate.Target, 'g', -1, 64) }},
}

// settings are the properties whose differences are reported: one may be the purpose of
// the comparison, or a mistake.
var settings = []property{
	{"judged seconds", func(c certificate.Certificate) string { return strconv.FormatInt(c.Window.Seconds, 10) }},
	{"workers", func(c certificate.Certificate) string { return strconv.Itoa(c.Generator.Workers) }},
	{"target", func(c certificate.Certificate) string { return c.Environment.Target }},
	{"generator host", func(c certificate.Certificate) string { return c.Environment.Host.Name }},
	{"generator CPU", func(c certificate.Certificate) string {
		h := c.Environment.Host
		return fmt.Sprintf("%d x %s", h.CPUs, h.CPU)
	}},
	{"on the generator host", func(c certificate.Certificate) string {
		return cmp.Or(strings.Join(c.Environment.CoLocation, " and "), "nothing else")
	}},
	{"scripts", func(c certificate.Certificate) string { return digests(c.Environment.Scripts...) }},
	{"thresholds", func(c certificate.Certificate) string { return digests(c.Environment.Thresholds) }},
	{"assay", func(c certificate.Certificate) string {
		t := c.Environment.Tool
		version := strings.TrimSpace(t.Version + " " + shorten(t.Revision))
		if t.Dirty {
			version += " (changed sources)"
		}
		return version
	}},
	{"database", func(c certificate.Certificate) string {
		if d := c.Environment.Database; d != nil {
			return d.Flavour + " " + d.Version
		}
		return "unknown"
	}},
}

// loadDifference describes the first difference in load; empty: none.
func loadDifference(a, b []Run) string {
	if all := differences(loads, a, b); len(all) > 0 {
		return all[0]
	}
	return ""
}

// settingDifferences lists the settings that differ between A and B, or within one of
// them.
func settingDifferences(a, b []Run) []string {
	return append(differences(settings, a, b), differences(variables(append(slices.Clone(a), b...)), a, b)...)
}

// variables are properties for all database variables that any run recorded.
func variables(all []Run) (properties []property) {
	names := map[string]bool{}
	for _, r := range all {
		if d := r.Certificate.Environment.Database; d != nil {
			for name := range d.Variables {
				names[name] = true
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		properties = append(properties, property{"database " + name, func(c certificate.Certificate) string {
			if d := c.Environment.Database; d != nil {
				if v, ok := d.Variables[name]; ok {
					return strconv.Quote(v)
				}
			}
			return "unknown"
		}})
	}
	return properties
}

func differences(properties []property, a, b []Run) (all []string) {
	for _, f := range properties {
		x, y := values(f, a), values(f, b)
		if len(x) == 1 && slices.Equal(x, y) {
			continue
		}
		text := fmt.Sprintf("%s in A, %s in B", strings.Join(x, " or "), strings.Join(y, " or "))
		if slices.Equal(x, y) {
			text = strings.Join(x, " or ") + " in both"
		}
		all = append(all, f.name+": "+text)
	}
	return all
}

func values(f property, runs []Run) []string {
	seen := map[string]bool{}
	for _, r := range runs {
		seen[f.value(r.Certificate)] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

// digests lists files with the beginnings of their digests.
func digests(files ...record.Digest) string {
	var all []string
	for _, f := range files {
		all = append(all, f.Path+" "+shorten(strings.TrimPrefix(f.SHA256, "sha256:")))
	}
	return strings.Join(all, ", ")
}

// shorten cuts a digest to as many characters as distinguish it from others.
func shorten(digest string) string { return digest[:min(len(digest), 12)] }
