// Command bench measures what judging the record of a large event costs, what
// the collector costs a database, and what the generator costs and can do, as
// ratios of interleaved runs: of the last, one core for the generator, the
// other for the target and the coordinator. `make bench` builds and runs it.
//
// It needs two CPUs that it may use and taskset (util-linux). Its figures are
// for people: no test depends on them.
package main
