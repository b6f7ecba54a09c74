// Package accesslog parses lines of access logs: combined (nginx, Apache), JSON with one
// object a line, and those of AWS Application Load Balancers.
//
// Input: a line without its end, of any bytes. Output: an Entry, or the Problem of the
// line. An Entry holds nothing that names a person but the request's target, from which
// package route removes identifiers: addresses, users, user agents, referrers, cookies and
// hosts are not even read.
package accesslog
