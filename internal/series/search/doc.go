// Package search finds the highest rate at which a system meets its SLOs: it
// brackets the rate by doubling or halving, then bisects the bracket, with the
// semantics of MLRsearch (FD.io; draft-ietf-bmwg-mlrsearch). Each trial counts
// violations and is clear, broken or close to the limit. One clear or broken trial
// decides a load; close or doubtful trials are repeated (see Load). A load that stays close
// is no bound: the lower one is sought below it, and the upper one above.
//
// Search is the pure part: Next returns the load to try, Add records a trial's
// result, and both depend on the results alone. Run is the loop that makes the
// trials and writes Document, the content of search.json. Trials makes them: each is a
// short run of the profile (Shorten) in its own sealed run folder without a certificate.
//
// Input: the parameters of the search, the profile, and the options common to all runs.
// Output: a Document. A search never certifies: it chose its loads by their results, and a
// rate that passed because it was tried often enough proves nothing.
package search
