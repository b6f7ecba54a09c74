// Package databases chooses the collector of a database by its DSN.
//
// Input: a DSN, of a family that package database tells. Output: its collector,
// or what that would meet.
package databases
