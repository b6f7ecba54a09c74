// Package pi collects the waits of an instance of RDS or Aurora from the
// Performance Insights API, for where its database may not be asked itself.
//
// Input: the instance's DbiResourceId, and credentials by the SDK's ordinary
// chain. Output: once the load has ended, one frame for each second that was
// published (metric.DBSession and its neighbours): one sample a second, whose
// number of sessions is the second's load. It was never run against AWS itself:
// the tests have a server that answers in the documented shape (pitest).
package pi
