// Package pi collects the waits of an instance of RDS or Aurora from the
// Performance Insights API, where the database itself may not be asked.
//
// Input: the instance's DbiResourceId, and credentials by the SDK's ordinary
// chain. Output: once the load has ended, one frame for each second that was
// published (metric.DBSession and its neighbours): one sample a second, whose
// number of sessions is the second's load. It was never run against AWS itself: the
// tests use a server that answers in the documented form (pitest).
package pi
