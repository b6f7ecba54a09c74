package accesslog

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// role is what a field of a JSON line is for.
type role uint8

const (
	roleTime role = iota
	roleMethod
	rolePath
	roleRequest // method and path in one line
	roleStatus
	roleDuration
	roles
)

var roleNames = [roles]string{"time", "method", "path", "request", "status", "duration"}

// field is a field that a line may have. Of those of one role the first in the list that a
// line has is used.
type field struct {
	name  string // of a nested field: with dots
	role  role
	rank  int  // among all fields
	unit  Unit // of a duration; 0: settled by a sample
	start bool // the time is when the request began, not when it was logged
}

// usual are the fields of the usual logs by their roles: nginx (as examples of log_format have
// them), Caddy, Envoy, Traefik, Google Cloud's load balancers, the Elastic Common Schema.
var usual = [roles][]field{
	roleTime: append([]field{{name: "start_time", start: true}, {name: "StartUTC", start: true}}, // Envoy, Traefik
		named(0, "msec", "time_iso8601", "time_local", "@timestamp", "timestamp", "ts", "time", "datetime", "date")...),
	roleMethod:  named(0, "request_method", "request.method", "httpRequest.requestMethod", "http.request.method", "RequestMethod", "http_method", "method", "verb"),
	rolePath:    named(0, "request_uri", "request.uri", "httpRequest.requestUrl", "url.original", "RequestPath", "url.path", "uri", "path", "url"),
	roleRequest: named(0, "request", "request_line"),
	roleStatus:  named(0, "httpRequest.status", "http.response.status_code", "DownstreamStatus", "response_code", "status", "status_code", "statusCode"),
	roleDuration: slices.Concat(
		named(time.Second, "request_time"), named(0, "httpRequest.latency"), named(time.Nanosecond, "Duration", "event.duration"),
		named(time.Millisecond, "duration_ms", "latency_ms", "response_time_ms"), named(0, "duration", "latency", "response_time", "elapsed"),
	),
}

// named are fields of names; unit is that of a duration.
func named(unit time.Duration, names ...string) (all []field) {
	for _, name := range names {
		all = append(all, field{name: name, unit: Unit(unit)})
	}
	return all
}

// ParseField reads ROLE=NAME: which field of a JSON line has a role.
func ParseField(text string) (role, name string, err error) {
	role, name, ok := strings.Cut(text, "=")
	if !ok || name == "" || !slices.Contains(roleNames[:], role) {
		return "", "", fmt.Errorf("field %q is not ROLE=NAME, where the role is one of %s", text, strings.Join(roleNames[:], ", "))
	}
	return role, name, nil
}

// fieldsOf are the usual fields, but those of a role for which another name was given.
func fieldsOf(given map[string]string) (all []field) {
	for i, name := range roleNames {
		switch r := role(i); {
		case given[name] != "":
			all = append([]field{{name: given[name], role: r}}, all...)
		case r == roleRequest && given["path"] != "", r == rolePath && given["request"] != "":
		default:
			for _, f := range usual[r] {
				f.role = r
				all = append(all, f)
			}
		}
	}
	return all
}
