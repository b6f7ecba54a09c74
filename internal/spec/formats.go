// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"fmt"
	"math"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"assay.dev/assay/internal/mask"
)

// formats check texts that the schemas name the format of. They return what is wrong with a
// text, and what to write instead; empty: nothing.
var formats = map[string]func(text string) (problem, hint string){
	"go-duration":    span(math.MinInt64, math.MaxInt64),
	"timeout":        span(1, maxTimeout),
	"health-timeout": span(1, maxHealthTimeout),
	"gap":            span(1, MaxDuration),
	"trial":          span(MinHold, MaxDuration),
	"latency":        span(0, maxStubLatency),
	"offset":         wholeSeconds(0),
	"length":         wholeSeconds(time.Second),
	"hold":           wholeSeconds(MinHold),
	"host":           hostFormat,
	"http-url":       urlFormat,
	"header":         headerFormat,
	"gauge": func(text string) (problem, hint string) {
		if _, _, ok := (Gauge{Metric: text}).Selector(); !ok {
			return quote(text) + ` is not name or name{label="value"}`, ""
		}
		return "", ""
	},
	"selection": func(text string) (problem, hint string) {
		_, problem = ParseSelection(text)
		return problem, ""
	},
	"route": routeFormat,
}

// span checks a duration between two others.
func span(least, most time.Duration) func(string) (problem, hint string) {
	return func(text string) (problem, hint string) {
		d, err := time.ParseDuration(text)
		switch {
		case err != nil:
			return quote(text) + " is not a duration", `write for example "5s", "90s" or "10m"`
		case d >= least && d <= most:
			return "", ""
		case least == 1:
			return fmt.Sprintf("%v is out of range: want above 0 and at most %v", d, most), ""
		}
		return fmt.Sprintf("%v is out of range: want %v to %v", d, least, most), ""
	}
}

// wholeSeconds checks a duration of whole seconds.
func wholeSeconds(least time.Duration) func(string) (problem, hint string) {
	parse := span(math.MinInt64, math.MaxInt64)
	return func(text string) (problem, hint string) {
		d, err := time.ParseDuration(text)
		if err == nil && (d < least || d%time.Second != 0 || d > MaxDuration) {
			return fmt.Sprintf("%s is out of range: want whole seconds from %v to %v", quote(text), least, MaxDuration), ""
		}
		return parse(text)
	}
}

func hostFormat(text string) (problem, hint string) {
	if normalHost(text) != strings.ToLower(text) {
		return quote(text) + " is not a host", `write the bare name or address, e.g. "staging.example": no scheme, port, path or wildcard`
	}
	return "", ""
}

// urlFormat checks a URL, which holds no secret, as it is recorded.
func urlFormat(text string) (problem, hint string) {
	u, err := url.Parse(text)
	if err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil && !mask.Holds(text) {
		return "", ""
	}
	shown := quote(text)
	if strings.Contains(shown, "@") || mask.Holds(text) {
		shown = "the text"
	}
	return shown + " is not an http or https URL without user, password or token", ""
}

// headerName is a token (RFC 9110, section 5.1).
var headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$")

// takenHeaders are those that k6 or net/http sets, that would change the request, or that
// marking sets too.
var takenHeaders = []string{
	"Baggage", "Connection", "Content-Length", "Cookie", "Host", "Te", "Traceparent", "Tracestate",
	"Trailer", "Transfer-Encoding", "Upgrade", "User-Agent",
}

// headerFormat checks the name of a header that requests may get in addition to their own.
func headerFormat(text string) (problem, hint string) {
	switch {
	case !headerName.MatchString(text):
		return quote(text) + " is not the name of a header", ""
	case slices.ContainsFunc(takenHeaders, func(taken string) bool { return strings.EqualFold(taken, text) }):
		return fmt.Sprintf("header %s has another use", quote(text)), ""
	}
	return "", ""
}

// StubReserved is the prefix of the paths that a stub keeps for itself.
const StubReserved = "/_assay/"

// stubRoute is a method and a path, as net/http matches them.
var stubRoute = regexp.MustCompile(`^(?:(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS) )?(/[A-Za-z0-9._~!$&'()*+,;=:@%/{}-]*)$`)

func routeFormat(text string) (problem, hint string) {
	route := stubRoute.FindStringSubmatch(text)
	switch {
	case route == nil, !cleanPath(route[1]):
		return quote(text) + " is not a method and a path", `write for example "match": "POST /charge", or "GET /charge/{id}"`
	case !validWildcards(route[1]):
		return quote(text) + " has braces that are no segment with a name of its own",
			`write for example "GET /charge/{id}/lines/{line}"; {name...} and {$} may only be the last segment`
	case strings.HasPrefix(route[1]+"/", StubReserved):
		return StubReserved + " is the prefix of the stub's own paths", "choose another path"
	}
	return "", ""
}

// cleanPath reports whether a path has no segments that net/http would remove.
func cleanPath(p string) bool {
	clean := path.Clean(p)
	if strings.HasSuffix(p, "/") && clean != "/" {
		clean += "/"
	}
	return clean == p
}

// wildcardName is the name of a segment in braces.
var wildcardName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// validWildcards reports whether the braces of a path are as net/http takes them: around a
// whole segment, which they name, each with another name; with "..." after the name for all
// that is left of the path, or "$" alone for its end, only in the last segment.
func validWildcards(p string) bool {
	segments, seen := strings.Split(p[1:], "/"), map[string]bool{}
	for i, s := range segments {
		if !strings.ContainsAny(s, "{}") {
			continue
		}
		if !strings.HasPrefix(s, "{") || !strings.HasSuffix(s, "}") {
			return false
		}
		last, name := i == len(segments)-1, s[1:len(s)-1]
		if last && name == "$" {
			continue
		}
		if last {
			name = strings.TrimSuffix(name, "...")
		}
		if !wildcardName.MatchString(name) || seen[name] {
			return false
		}
		seen[name] = true
	}
	return true
}
