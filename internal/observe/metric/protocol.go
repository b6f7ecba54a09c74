// SPDX-License-Identifier: Apache-2.0

package metric

import (
	"slices"
	"strconv"
)

// Protocol is how the requests of one protocol are measured: whatever counts, splits by
// endpoint or judges requests asks the table of protocols. An endpoint is the label name of
// the requests.
type Protocol struct {
	Name     string
	Requests string // counter, with the label status
	// Times are those that each request has, one that failed too. The first one is its
	// duration, which is the sum of the next Parts. A script may have further metrics whose
	// names begin like them.
	Times  []string
	Parts  int
	Failed string // rate; a script may except requests
	// Succeeds reports whether a request with this status has succeeded, unless its script
	// says that it has not.
	Succeeds func(status string) bool
	// Fails reports whether a request with this status has failed whatever its script expects,
	// as it had no answer, or the server's own failure as one. Only a profile may expect it.
	Fails func(status string) bool
	// Classes are the labels by which its requests fall into classes.
	Classes []string
	// Unanswered are the statuses of requests without an answer, which the generator may
	// have caused.
	Unanswered []string
}

// Names of k6's metrics of HTTP requests.
const (
	Requests          = "http_reqs"
	RequestFailed     = "http_req_failed"
	RequestDuration   = "http_req_duration"
	RequestSending    = "http_req_sending"
	RequestWaiting    = "http_req_waiting"
	RequestReceiving  = "http_req_receiving"
	RequestBlocked    = "http_req_blocked"
	RequestConnecting = "http_req_connecting"
	RequestTLS        = "http_req_tls_handshaking"
)

// HTTP, GRPC and WebSocket are the protocols. A request of the last one is the opening of a
// session.
var (
	HTTP = &Protocol{
		Name: "HTTP", Requests: Requests, Failed: RequestFailed, Unanswered: []string{"0"}, Parts: 3,
		Times:    []string{RequestDuration, RequestSending, RequestWaiting, RequestReceiving, RequestBlocked, RequestConnecting, RequestTLS},
		Succeeds: func(status string) bool { n := statusNumber(status); return n >= 100 && n < 400 },
		Classes:  []string{"name", "method", "group"},
		// A status that HTTP does not define is a 5xx to a client (RFC 9110, 15).
		Fails: func(status string) bool { n := statusNumber(status); return status != "" && (n < 100 || n >= 500) },
	}
	GRPC = &Protocol{
		Name: "gRPC", Requests: "grpc_reqs", Failed: "grpc_req_failed", Times: []string{"grpc_req_duration"},
		Classes:    []string{"name", "service", "method", "group"},
		Unanswered: []string{"1", "4", "14"}, // canceled, deadline exceeded, unavailable
		Succeeds:   func(status string) bool { return status == "0" },
		Fails:      func(status string) bool { return !slices.Contains(grpcAnswers, status) },
	}
	WebSocket = &Protocol{
		Name: "WebSocket", Requests: "ws_sessions", Failed: "ws_failed", Times: []string{"ws_connecting"},
		Classes:    []string{"name", "group"},
		Unanswered: []string{""},
		Succeeds:   func(status string) bool { return status == "101" },
		Fails:      func(status string) bool { return status != "101" },
	}
)

// grpcAnswers are the statuses of gRPC that are answers: OK, and those that say what is wrong
// with the call. All others mean that the server failed (OpenTelemetry's semantic conventions
// for gRPC), or that the caller has given up.
var grpcAnswers = []string{"0", "3", "5", "6", "7", "8", "9", "10", "11", "16"}

// statusNumber is a status as a number; 0 if it is none.
func statusNumber(status string) int {
	n, _ := strconv.Atoi(status)
	return n
}

// Protocols lists the protocols.
var Protocols = []*Protocol{HTTP, GRPC, WebSocket}

// Duration is the time of each request by which endpoints are described.
func (p *Protocol) Duration() string { return p.Times[0] }

// ProtocolOf is the protocol of whose requests a metric is; nil: it is of no requests.
func ProtocolOf(name string) *Protocol { return byName[name].Protocol }

// IsRequestTime reports whether each request of a protocol has this time.
func IsRequestTime(name string) bool {
	p := ProtocolOf(name)
	return p != nil && slices.Contains(p.Times, name)
}

// IsRequestFailed reports whether the metric is the rate of a protocol's failed requests.
func IsRequestFailed(name string) bool {
	p := ProtocolOf(name)
	return p != nil && name == p.Failed
}

// Classes are the labels by which the samples of a metric fall into classes, the widest first:
// an SLO on the metric judges each class by itself, so that none hides another. It is nil for
// metrics of no script, whose samples are all alike.
func Classes(name string) []string {
	d, known := byName[name]
	switch {
	case d.Protocol != nil:
		return d.Protocol.Classes
	case name == Checks:
		return []string{"check", "group", "name"}
	case name == GroupDuration:
		return []string{"group", "name"}
	case name == TransactionDuration: // the name of its iteration
		return []string{"name"}
	case known && !d.From(SourceK6):
		return nil
	}
	return []string{"name", "group"} // iterations, and metrics of the script
}
