package gateway

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Modes are the payment modes, in the order of every PerMode.
var Modes = [...]string{"upi", "card", "netbanking", "wallet"}

// Known reports whether there is a provider for the mode.
func Known(mode string) bool { return slices.Contains(Modes[:], mode) }

// PerMode is a number for each payment mode. As a flag it reads one number for
// all of them, or MODE=NUMBER for some.
type PerMode [len(Modes)]float64

// All is the same number for every mode.
func All(v float64) (p PerMode) {
	for i := range p {
		p[i] = v
	}
	return p
}

// of is the number of a known mode.
func (p PerMode) of(mode string) float64 { return p[slices.Index(Modes[:], mode)] }

// within reports whether every number is in [low, high].
func (p PerMode) within(low, high float64) bool {
	for _, v := range p {
		if !(v >= low && v <= high) { // NaN is not within
			return false
		}
	}
	return true
}

// String is in the format of Set.
func (p *PerMode) String() string {
	if *p == All(p[0]) {
		return format(p[0])
	}
	parts := make([]string, len(p))
	for i, v := range p {
		parts[i] = Modes[i] + "=" + format(v)
	}
	return strings.Join(parts, ",")
}

func format(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// Type names the value in the help.
func (p *PerMode) Type() string { return "number|mode=number,..." }

// Set reads one number for all modes, or MODE=NUMBER,... for those named.
func (p *PerMode) Set(s string) error {
	next := *p
	for part := range strings.SplitSeq(s, ",") {
		mode, text, named := strings.Cut(part, "=")
		if !named {
			text = part
		}
		v, err := strconv.ParseFloat(text, 64)
		switch {
		case err != nil:
			return errors.New("want a number, or MODE=NUMBER,... as in card=0.5,upi=0.1")
		case !named:
			next = All(v)
		case Known(mode):
			next[slices.Index(Modes[:], mode)] = v
		default:
			return noMode(mode)
		}
	}
	*p = next
	return nil
}

func noMode(mode string) error {
	return fmt.Errorf("no mode %.32q: want one of %s", mode, strings.Join(Modes[:], ", "))
}

// PerModeURL is a base URL for each payment mode; empty: none. As a flag it reads one for
// all of them, or MODE=URL for some.
type PerModeURL [len(Modes)]string

// of is the URL of a known mode.
func (p PerModeURL) of(mode string) string { return p[slices.Index(Modes[:], mode)] }

// String is in the format of Set.
func (p *PerModeURL) String() string {
	if !slices.ContainsFunc(p[:], func(base string) bool { return base != p[0] }) {
		return p[0]
	}
	var parts []string
	for i, base := range p {
		if base != "" {
			parts = append(parts, Modes[i]+"="+base)
		}
	}
	return strings.Join(parts, ",")
}

// Type names the value in the help.
func (p *PerModeURL) Type() string { return "url|mode=url,..." }

// Set reads one URL for all modes, or MODE=URL,... for those named.
func (p *PerModeURL) Set(s string) error {
	next := *p
	for part := range strings.SplitSeq(s, ",") {
		mode, base, named := strings.Cut(part, "=")
		if strings.Contains(mode, ":") || !named {
			named, base = false, part
		}
		base = strings.TrimSuffix(base, "/")
		u, err := url.Parse(base)
		switch {
		case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "":
			return errors.New("want an http or https URL without user and password, or MODE=URL,... as in card=http://127.0.0.1:18090")
		case !named:
			for i := range next {
				next[i] = base
			}
		case Known(mode):
			next[slices.Index(Modes[:], mode)] = base
		default:
			return noMode(mode)
		}
	}
	*p = next
	return nil
}
