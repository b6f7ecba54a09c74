// Package localstack uses the local stack: a database, the reference service and InfluxDB on
// loopback, which the program assay-lab runs.
//
// Input: requests. Output: the state of the stack as a run needs it. Each request starts
// assay-lab, writes the request as JSON to its stdin and reads the reply from its stdout:
// this program links no server, and passwords are on no command line.
package localstack
