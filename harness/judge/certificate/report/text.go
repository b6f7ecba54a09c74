package report

import (
	"fmt"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"assay/harness/judge/certificate"
	"assay/harness/judge/internal/plain"
)

// signed says whether anybody stands for the certificate: a reader of any of
// the reports must see it.
func signed(c certificate.Certificate) string {
	if c.Signed {
		text := "Signed"
		if c.Issuer != nil {
			text += " (key " + *c.Issuer + ")"
		}
		return text + "; check it with assay verify"
	}
	return "Not signed: nothing shows who issued it, or that nothing was changed"
}

func whole(n *int64) string {
	if n == nil {
		return "-"
	}
	return strconv.FormatInt(*n, 10)
}

// measured is a number with its unit; shares are shown as percentages.
func measured(v *float64, unit string) string {
	switch {
	case v == nil:
		return "-"
	case unit == "share":
		return plain.Number(scaled(v, unit)) + " %"
	case unit == "count" || unit == "":
		return plain.Number(v)
	}
	return plain.Number(v) + " " + unit
}

// scaled is a number as it is shown.
func scaled(v *float64, unit string) *float64 {
	if v == nil || unit != "share" {
		return v
	}
	percent := *v * 100
	return &percent
}

// interval is where the value may lie, in the unit of the observed one; empty
// where that was not estimated.
func interval(s certificate.SLO) string {
	if s.Lower == nil && s.Upper == nil {
		return ""
	}
	return plain.Number(scaled(s.Lower, s.Unit)) + " to " + plain.Number(scaled(s.Upper, s.Unit))
}

func hasIntervals(slos []certificate.SLO) bool {
	return slices.ContainsFunc(slos, func(s certificate.SLO) bool { return interval(s) != "" })
}

// count is how often an SLO was violated, and how often it may be.
func count(s certificate.SLO) string {
	text := "no data"
	switch {
	case s.Samples != nil && s.Violations != nil:
		text = fmt.Sprintf("%d/%d", *s.Violations, *s.Samples)
	case s.Samples != nil && s.AtLeast != nil && s.AtMost != nil:
		text = fmt.Sprintf("%d..%d/%d", *s.AtLeast, *s.AtMost, *s.Samples)
	default:
		return text
	}
	if s.Allowed != nil && *s.Allowed > 0 {
		text += fmt.Sprintf(" (%d may)", *s.Allowed)
	}
	return text
}

// basis is what an SLO's verdict rests on, in words that may stand alone.
func basis(s certificate.SLO) string {
	if s.Basis == "inferred" {
		return "95 % sure"
	}
	return "this run"
}

// shorten cuts a text that is longer than most characters, and says so.
func shorten(s string, most int) string {
	const mark = " [...]"
	n := 0
	for at := range s {
		if n++; n > most {
			cut := s[:at]
			for range len(mark) {
				_, size := utf8.DecodeLastRuneInString(cut)
				cut = cut[:len(cut)-size]
			}
			return cut + mark
		}
	}
	return s
}

func day(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }
