package compare

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"assay/harness/judge/certificate"
	"assay/harness/observe/record"
)

// facet is one thing that A and B should have in common.
type facet struct {
	name string
	of   func(certificate.Certificate) string
}

// loads are facets without which a ratio says nothing: other work was asked for.
var loads = []facet{
	{"profile", func(c certificate.Certificate) string { return c.Profile }},
	{"unit", func(c certificate.Certificate) string { return c.Rate.Unit }},
	{"target rate", func(c certificate.Certificate) string { return strconv.FormatFloat(c.Rate.Target, 'g', -1, 64) }},
}

// settings are facets that may be what the comparison is about, or what spoils
// it: the reader must know.
var settings = []facet{
	{"judged seconds", func(c certificate.Certificate) string { return strconv.FormatInt(c.Window.Seconds, 10) }},
	{"workers", func(c certificate.Certificate) string { return strconv.Itoa(c.Generator.Workers) }},
	{"target", func(c certificate.Certificate) string { return c.Environment.Target }},
	{"generator host", func(c certificate.Certificate) string { return c.Environment.Host.Name }},
	{"generator CPU", func(c certificate.Certificate) string {
		h := c.Environment.Host
		return fmt.Sprintf("%d x %s", h.CPUs, h.CPU)
	}},
	{"on the generator's host", func(c certificate.Certificate) string {
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
		return "not known"
	}},
}

// differentLoad names the first facet of the load that is not one.
func differentLoad(a, b []Run) string {
	if all := differences(loads, a, b); len(all) > 0 {
		return all[0]
	}
	return ""
}

// differentSettings lists what A and B do not have in common, and what each
// does not have in itself.
func differentSettings(a, b []Run) []string {
	return append(differences(settings, a, b), differences(variables(append(slices.Clone(a), b...)), a, b)...)
}

// variables are the database's, as far as any run has them.
func variables(all []Run) (facets []facet) {
	names := map[string]bool{}
	for _, r := range all {
		if d := r.Certificate.Environment.Database; d != nil {
			for name := range d.Variables {
				names[name] = true
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		facets = append(facets, facet{"database " + name, func(c certificate.Certificate) string {
			if d := c.Environment.Database; d != nil {
				if v, ok := d.Variables[name]; ok {
					return strconv.Quote(v)
				}
			}
			return "not known"
		}})
	}
	return facets
}

func differences(facets []facet, a, b []Run) (all []string) {
	for _, f := range facets {
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

func values(f facet, runs []Run) []string {
	seen := map[string]bool{}
	for _, r := range runs {
		seen[f.of(r.Certificate)] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

// digests names files by the start of their content's digest.
func digests(files ...record.Digest) string {
	var all []string
	for _, f := range files {
		all = append(all, f.Path+" "+shorten(strings.TrimPrefix(f.SHA256, "sha256:")))
	}
	return strings.Join(all, ", ")
}

// shorten leaves of a digest what tells it from others.
func shorten(digest string) string { return digest[:min(len(digest), 12)] }
