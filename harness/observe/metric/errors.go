package metric

// Values of the label where of errors_by_class: who noticed the error.
const (
	AtClient   = "client"   // the generator: requests and transactions
	AtScript   = "script"   // the scenario, by the counter errors_by_class with the tag class
	AtService  = "service"  // the service under test, in its own metrics
	AtDatabase = "database" // the database's status counters
)

// Values of the label class of errors_by_class. The generator, the reference service and
// scripts use the same words for the same error; a service may use others of its own. An
// HTTP error status is "HTTP 503".
const (
	ErrorRefused         = "connection refused"
	ErrorReset           = "connection reset"
	ErrorClosed          = "connection closed" // by the other side, before or within the response
	ErrorTimeout         = "timeout"
	ErrorConnectTimeout  = "connect timeout"
	ErrorOpenFiles       = "too many open files"
	ErrorNoPort          = "no free local port"
	ErrorUnreachable     = "unreachable"
	ErrorDNS             = "DNS"
	ErrorTLS             = "TLS"
	ErrorHTTP2           = "HTTP/2"
	ErrorRedirects       = "too many redirects"
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
	ErrorServerGone      = "server shutdown"
	ErrorAbortedClient   = "aborted client"  // a connection that its client left without closing it
	ErrorAbortedConnect  = "aborted connect" // a connection that was not established
	ErrorTooManyPrepared = "too many prepared statements"
	ErrorOther           = "other"
)
