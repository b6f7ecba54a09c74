// Package reproduce measures a field report's system on this machine, each in a package of
// its own: twowriters, ingestion. What they have in common is here: the options, and the
// tables of certificates.
//
// Input: the options of runs, and the local stack. Output: a page with the tables of the
// report; nothing of it is compared with absolute numbers, which are those of the machine.
package reproduce
