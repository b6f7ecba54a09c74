// Package search looks for the highest rate at which a system holds its SLOs:
// it brackets it by doubling (or halving), then bisects the bracket, with the
// semantics of MLRsearch (FD.io; draft-ietf-bmwg-mlrsearch). A trial is counted:
// it is clear, broken or close. One decisive trial decides a load; what is close, or
// in doubt, is tried again: see Load.
//
// Search is the pure part: Next names the load to try, Add takes what a trial
// came to, and both follow from the results alone. Run is the loop that makes
// the trials and keeps Document, the content of search.json. Shorten and CanTell
// say what a trial of a profile is, Probe.Judge what its verdict says of the load,
// Rest how long the system needs after it.
//
// Input: a Goal, a Range of loads, and a Trial for each load asked for. Output:
// a Document. A search never certifies: its loads were chosen by their outcomes,
// and a rate that passed because it was tried often enough has shown nothing.
package search
