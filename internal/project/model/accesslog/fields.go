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
	unit  Unit // of a duration; 0: settled by a sample
	start bool // the time is when the request began, not when it was logged
}

// usual are the fields of the usual logs: nginx (as examples of log_format have them), Caddy,
// Envoy, Traefik, Google Cloud's load balancers, the Elastic Common Schema.
var usual = []field{
	{name: "start_time", role: roleTime, start: true}, // Envoy
	{name: "StartUTC", role: roleTime, start: true},   // Traefik
	{name: "msec", role: roleTime},
	{name: "time_iso8601", role: roleTime},
	{name: "time_local", role: roleTime},
	{name: "@timestamp", role: roleTime},
	{name: "timestamp", role: roleTime},
	{name: "ts", role: roleTime}, // Caddy
	{name: "time", role: roleTime},
	{name: "datetime", role: roleTime},
	{name: "date", role: roleTime},

	{name: "request_method", role: roleMethod},
	{name: "request.method", role: roleMethod},
	{name: "httpRequest.requestMethod", role: roleMethod},
	{name: "http.request.method", role: roleMethod},
	{name: "RequestMethod", role: roleMethod},
	{name: "http_method", role: roleMethod},
	{name: "method", role: roleMethod},
	{name: "verb", role: roleMethod},

	{name: "request_uri", role: rolePath},
	{name: "request.uri", role: rolePath},
	{name: "httpRequest.requestUrl", role: rolePath},
	{name: "url.original", role: rolePath},
	{name: "RequestPath", role: rolePath},
	{name: "url.path", role: rolePath},
	{name: "uri", role: rolePath},
	{name: "path", role: rolePath},
	{name: "url", role: rolePath},

	{name: "request", role: roleRequest},
	{name: "request_line", role: roleRequest},

	{name: "httpRequest.status", role: roleStatus},
	{name: "http.response.status_code", role: roleStatus},
	{name: "DownstreamStatus", role: roleStatus},
	{name: "response_code", role: roleStatus},
	{name: "status", role: roleStatus},
	{name: "status_code", role: roleStatus},
	{name: "statusCode", role: roleStatus},

	{name: "request_time", role: roleDuration, unit: Unit(time.Second)},
	{name: "httpRequest.latency", role: roleDuration},
	{name: "Duration", role: roleDuration, unit: Unit(time.Nanosecond)},
	{name: "event.duration", role: roleDuration, unit: Unit(time.Nanosecond)},
	{name: "duration_ms", role: roleDuration, unit: Unit(time.Millisecond)},
	{name: "latency_ms", role: roleDuration, unit: Unit(time.Millisecond)},
	{name: "response_time_ms", role: roleDuration, unit: Unit(time.Millisecond)},
	{name: "duration", role: roleDuration},
	{name: "latency", role: roleDuration},
	{name: "response_time", role: roleDuration},
	{name: "elapsed", role: roleDuration},
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
		if given[name] != "" {
			all = append(all, field{name: given[name], role: role(i)})
		}
	}
	for _, f := range usual {
		switch {
		case given[roleNames[f.role]] != "":
		case f.role == roleRequest && given["path"] != "", f.role == rolePath && given["request"] != "":
		default:
			all = append(all, f)
		}
	}
	return all
}
