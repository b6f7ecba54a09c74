// SPDX-License-Identifier: Apache-2.0

package metric

import "slices"

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
	// Succeeded is the status of a request that succeeded. Empty: k6 itself decides.
	Succeeded string
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
		Times: []string{RequestDuration, RequestSending, RequestWaiting, RequestReceiving, RequestBlocked, RequestConnecting, RequestTLS},
	}
	GRPC = &Protocol{
		Name: "gRPC", Requests: "grpc_reqs", Failed: "grpc_req_failed", Times: []string{"grpc_req_duration"},
		Succeeded: "0", Unanswered: []string{"1", "4", "14"}, // canceled, deadline exceeded, unavailable
	}
	WebSocket = &Protocol{
		Name: "WebSocket", Requests: "ws_sessions", Failed: "ws_failed", Times: []string{"ws_connecting"},
		Succeeded: "101", Unanswered: []string{""},
	}
)

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

// JudgesEndpoints is the protocol whose endpoints an SLO on the metric judges one by one; nil
// if it has none: the metric is neither the duration nor the failures of requests.
func JudgesEndpoints(name string) *Protocol {
	if p := ProtocolOf(name); p != nil && (name == p.Failed || name == p.Duration()) {
		return p
	}
	return nil
}
