// Package tpcc loads, checks and drops the database of scenarios/tpcc.js: tables, data
// and consistency conditions after the TPC-C specification (revision 5.11). What is
// measured with it is like TPC-C, and unaudited; its figures are no tpmC.
//
// Differences from the specification: no keying and think times, no terminals, load at a
// given rate; no foreign keys; a table of acknowledged identities, tpcc_ledger, into which
// each writing transaction inserts one row; history has a key, as clusters require one;
// items and customers can be scaled down.
//
// Input: an open database and the scale. Output: tables of a schema, and the rows that
// violate a condition.
package tpcc
