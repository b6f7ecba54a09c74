// Package pi collects the waits of an RDS or Aurora instance from the Performance Insights
// API, for databases that may not be queried directly.
//
// Input: the instance's DbiResourceId, and credentials from the SDK's default chain.
// Output: once the load has ended, one frame per second (metric.DBSession and related
// metrics). Each published second counts as one sample whose number of sessions is its
// load (db.load.avg). The package has never run against AWS: its tests use a server that
// responds as documented (pitest).
package pi
