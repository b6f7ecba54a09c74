// SPDX-License-Identifier: Apache-2.0

package metric

// Values of the label where of errors_by_class: who noticed the error.
const (
	AtClient   = "client"   // the generator: requests and transactions
	AtScript   = "script"   // the scenario, by the counter errors_by_class with the tag class
	AtService  = "service"  // the service under test, in its own metrics
	AtDatabase = "database" // the database's status counters
)

// Values of the label class of errors_by_class. The generator, the module k6/x/assay/sql
// and the reference service use the same words for the same error; other services and
// scripts may use others of their own. An HTTP error status is "HTTP 503", an error of a
// database server without a class here "SQL error 1064".
const (
	ErrorRefused         = "connection refused"
	ErrorReset           = "connection reset"
	ErrorClosed          = "connection closed" // by the other side, before or within the response, or lost
	ErrorTimeout         = "timeout"
	ErrorConnectTimeout  = "connect timeout"
	ErrorOpenFiles       = "too many open files"
	ErrorNoPort          = "no free local port"
	ErrorNoMemory        = "no memory for a connection" // in the generator's host
	ErrorUnreachable     = "unreachable"
	ErrorDNS             = "DNS"
	ErrorTLS             = "TLS"
	ErrorHTTP2           = "HTTP/2"
	ErrorRedirects       = "too many redirects"
	ErrorRequest         = "invalid request" // the client does not send it
	ErrorAnswerSize      = "answer too large"
	ErrorAnswers         = "no memory for the answer" // in the generator
	ErrorScript          = "script error"
	ErrorTransaction     = "transaction timeout"
	ErrorNotStarted      = "transaction not started"
	ErrorCanceled        = "canceled"
	ErrorPoolTimeout     = "pool timeout" // no connection of the pool became free in time
	ErrorTooMany         = "too many connections"
	ErrorDeadlock        = "deadlock"
	ErrorLockWait        = "lock wait timeout"
	ErrorCertification   = "certification failure"    // at commit, the cluster found a conflict with a transaction of another node
	ErrorOtherNode       = "aborted for another node" // a transaction held a row that one of another node, already certified, changes
	ErrorDuplicateKey    = "duplicate key"
	ErrorReadOnly        = "read only"
	ErrorDenied          = "access denied"
	ErrorSerialization   = "serialization failure"
	ErrorNotPrimary      = "not primary" // the node is not part of the cluster's primary component
	ErrorKilled          = "session killed"
	ErrorServerGone      = "server shutdown"
	ErrorAbortedClient   = "aborted client"  // a connection that its client left without closing it
	ErrorAbortedConnect  = "aborted connect" // a connection that was not established
	ErrorTooManyPrepared = "too many prepared statements"
	ErrorOther           = "other"
)

// Lacks are the classes of errors for which the generator is to blame: what its own process or
// host has not got, or the names that it cannot look up.
var Lacks = []string{ErrorNoPort, ErrorOpenFiles, ErrorNoMemory, ErrorAnswers, ErrorDNS}
