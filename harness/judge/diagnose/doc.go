// Package diagnose says where the time of a run went.
//
// Input: a record.Run. Output: findings, the same for the same record: the
// package reads no clock, file, network or random source. This form reads the
// database's waits; splitting a transaction's time into components and naming
// the bottleneck are not done yet.
package diagnose
