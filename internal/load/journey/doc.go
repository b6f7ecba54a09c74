// Package journey is the k6 module k6/x/assay/journey, by which the scripts of user
// journeys think: they wait in the place of a user, which counts neither as latency nor
// towards the timeout.
//
// Input: calls of scripts. Output: waits, and a Pause of package arrivals for each.
package journey
