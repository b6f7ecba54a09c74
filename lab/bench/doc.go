// Command bench measures the cost of judging the record of a large event, of reading
// access logs, the cost of the collector to a database, and the cost and capacity of the generator, as ratios of
// interleaved runs. The generator has one core, the target and the coordinator the
// other, but for the part "generator", in which all share all cores. `make bench` builds
// and runs it.
//
// It needs two CPUs and taskset (util-linux). No test depends on its results.
package main
