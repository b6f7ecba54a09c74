// Package experiment makes interleaved A/B runs of one profile under named
// variants, and says what they differ in (RULEBOOK section 5, WAITS section 6).
//
// Order names what is run next, Conclude says what the runs came to, and both are
// pure. Run is the loop: it puts variants in place, has runs made, takes variants
// back, and keeps Document, the content of experiment.json.
//
// In: an experiment file, and a Loop that makes runs. Out: a Document. One that
// was cut short claims nothing; one that was interrupted in its searches lacks the
// capacities alone.
package experiment
