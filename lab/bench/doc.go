// Command bench measures the cost of judging the records of fleets and of reading access
// logs, and the cost and capacity of generator and coordinator, as ratios of interleaved
// runs. The generator has one core, the target and the coordinator the other, but for the
// part "generator", in which all share all cores. `make bench` builds and runs it.
//
// It needs two CPUs and taskset (util-linux). No test depends on its results.
package main
