package gateway

import (
	"errors"
	"net/url"
	"slices"
	"strings"
)

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
