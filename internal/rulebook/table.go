// SPDX-License-Identifier: Apache-2.0

package rulebook

import "fmt"

// The ids of the rules.
const (
	WorkerLost     = "worker-lost"
	Complete       = "complete"
	Frames         = "frames"
	Faults         = "faults"
	OpenLoop       = "open-loop"
	Seeded         = "seeded"
	StartSkew      = "start-skew"
	Window         = "window"
	WarmUp         = "warm-up"
	Accounted      = "accounted"
	Script         = "script"
	CPUThrottled   = "cpu-throttled"
	GeneratorDrops = "generator-drops"
	Offered        = "offered"
	GeneratorLag   = "generator-lag"
	GeneratorCPU   = "generator-cpu"
	Machine        = "machine"
	Clock          = "clock"
	WorkersEven    = "workers-even"
	Receiver       = "receiver"
	Steady         = "steady"
	Samples        = "samples"
	PerClass       = "per-class"
	CoLocation     = "co-location"
	Collector      = "collector"
	Data           = "data"
	Tool           = "tool"
	Attempts       = "attempts"
)

// Effects that several rules have.
const (
	invalid    = "INVALID"
	limitation = "a limitation"
)

// overloadAdvice is what to do about a generator that does not keep up.
const overloadAdvice = "Give the generator more CPUs or more workers, and run nothing else on its host."

// table is in the order of causes: the claim of an INVALID run names the first broken rule,
// so that whether the run and its record are complete comes first, then whether the load
// was as planned, then whether the data suffice.
var table = []Rule{
	{
		ID: WorkerLost, What: "Every worker ended by itself", Limit: "no worker lost", Unit: "workers", Effect: invalid,
		Advice: "Keep the workers running until the run ends.",
		Source: "ours",
	},
	{
		ID: Complete, What: "The judged windows ran to their end, and so did all else that the SLOs judge", Limit: "the planned seconds", Unit: "s", Effect: invalid + "; a run that its abort condition stopped keeps its FAIL",
		Advice: "Let the run reach the end of its hold window.",
		Source: "ours",
	},
	{
		ID: Frames, What: "Every worker closed its stream, and its totals agree with what was received", Limit: "exact", Unit: "frames", Effect: invalid,
		Advice: "Check the workers' logs for why they ended or lost their connection, then run again.",
		Source: "k6 (its counts and the points that InfluxDB holds are known to differ)",
	},
	{
		ID: Faults, What: "The run injected and ended each fault of the profile", Limit: "every fault", Unit: "faults", Effect: invalid,
		Advice: "Check the node or the command of the fault by hand, then run again.",
		Source: "ours",
	},
	{
		ID: OpenLoop, What: "Arrivals follow the schedule, and latency counts from the scheduled time", Limit: "every planned slot", Unit: "slots", Effect: invalid, EachFlow: true,
		Advice: "Run again with a worker that follows the plan's schedule; if it recurs, the generator is at fault.",
		Source: "MLPerf Inference rules, wrk2",
	},
	{
		ID: Seeded, What: "Every worker drew arrivals and data from the plan's recorded seed", Limit: "the plan's seed", Effect: invalid,
		Advice: "Run again with workers of the same version, and check their logs.",
		Source: "MLPerf",
	},
	{
		ID: StartSkew, What: "The workers started together", Limit: fmt.Sprintf("first arrivals at most %d ms apart", MaxSkewMs), Unit: "ms", Effect: invalid,
		Advice: "Start fewer workers per host, on hosts with spare CPUs and synchronised clocks.",
		Source: "ours (k6-operator starts runners one by one)",
	},
	{
		ID: Window, What: "The highest rate was judged for long enough, without the time of recoveries", Limit: fmt.Sprintf("at least %.0f s for a certificate", CertificateHold.Seconds()), Unit: "s", Effect: invalid + " in scope certificate, and where a higher rate is neither judged nor an overload, unless an SLO fails; a shorter run is a smoke and says so", EachFlow: true,
		Advice: fmt.Sprintf("Hold the target for at least %.0f s to issue a certificate.", CertificateHold.Seconds()),
		Source: "MLPerf (600 s), TPC-C v5 (2 h)",
	},
	{
		ID: WarmUp, What: "The judged window starts after the warm-up, which is excluded and shown", Limit: "the end of the warm-up", Unit: "s", Effect: invalid + "; no warm-up at all is a limitation", EachFlow: true,
		Advice: "Give the load a warm-up, so that caches and pools are filled before the window starts.",
		Source: "TPC-C, FD.io CSIT",
	},
	{
		ID: Accounted, What: "Every scheduled transaction was completed, failed, timed out or dropped, in each second", Limit: "exact", Unit: "transactions", Effect: invalid, EachFlow: true,
		Advice: "Run again; if it recurs, the generator loses or repeats transactions: report it as a bug.",
		Source: "TPC-E",
	},
	{
		ID: Script, What: "The script sends something in each transaction, and makes no error of its own: no exception before it has sent anything, no request that cannot be sent (a URL without a scheme), and no TypeError or the like where every request succeeded", Limit: fmt.Sprintf("%g %% of the transactions without anything sent", 100*MaxSilent), Unit: "transactions", Effect: invalid + " where these decide the verdict; else a limitation with their number", EachFlow: true,
		Advice: "Fix the script: run it once against the target with `assay k6 run`, and give it what it needs (env of the profile).",
		Source: "ours",
	},
	{
		ID: CPUThrottled, What: "No CPU quota stopped the workers", Limit: fmt.Sprintf("%g %% of the time", 100*MaxTaken), Unit: "share", Effect: limitation + "; INVALID where the generator's own delay breaks another rule, of which it is the cause", Blames: Generator,
		Advice: "Remove the CPU limit of the workers' pods or containers (limits.cpu, docker --cpus), or give each worker more CPU.",
		Source: "ours (Linux cpu.stat)",
	},
	{
		ID: GeneratorDrops, What: "The generator itself lost few arrivals, by its own delay or for want of ports, descriptors, memory or names", Limit: fmt.Sprintf("a tenth of the smallest q of the latency SLOs, at most %g %%", 100*MaxDrops), Unit: "share", Effect: invalid + ", unless an SLO fails without them too", Blames: Generator, EachFlow: true, Override: true,
		Advice: overloadAdvice,
		Source: "FD.io CSIT, Nighthawk (send-rate)",
	},
	{
		ID: Offered, What: "The generator itself started few transactions late: later than the smaller of 100 ms and the tightest latency bound", Limit: "a tenth of the smallest q of the latency SLOs", Unit: "share", Effect: invalid + ", unless an SLO fails without them too", Blames: Generator, EachFlow: true, Override: true,
		Advice: overloadAdvice,
		Source: "wrk2, MLPerf",
	},
	{
		ID: GeneratorLag, What: "The generator's own share of the latencies does not decide the verdict", Unit: "ms", Effect: invalid + " only where it does; else a limitation with its figures", Blames: Generator, EachFlow: true,
		Advice: overloadAdvice,
		Source: "ours",
	},
	{
		ID: GeneratorCPU, What: "Every worker had CPUs to spare, its wait for a CPU included", Limit: fmt.Sprintf("%g %% of the CPUs that it may use; at most %g %% is recommended", 100*MaxGeneratorCPU, 100*RecommendedCPU), Unit: "share", Effect: limitation, Blames: Generator, Override: true,
		Advice: fmt.Sprintf("Add workers or CPUs until every worker needs at most %g %% of its CPUs, and run nothing else on them.", 100*RecommendedCPU),
		Source: "Hyperfoil, Graviton runbook",
	},
	{
		ID: Machine, What: "Neither hypervisor nor CPU quota took CPU time from the hosts, the service or the database", Limit: fmt.Sprintf("%g %% of the time", 100*MaxTaken), Unit: "share", Effect: limitation, Override: true,
		Advice: "Use a machine whose CPUs are neither shared nor burstable, without CPU quotas (cpu.max, docker --cpus, limits.cpu).",
		Source: "ours (Linux /proc/stat, cpu.stat, PSI)",
	},
	{
		ID: Clock, What: "All parts of the run had one clock, and it was not stepped", Limit: fmt.Sprintf("%g %% of the tightest bound on a time", 100*ClockShare), Unit: "ms", Effect: invalid + "; a limitation where no latency depends on it, or it is not certain",
		Advice: "Synchronise the clocks of all hosts by slewing rather than stepping, and run again.",
		Source: "SPECjbb2015",
	},
	{
		ID: WorkersEven, What: "All workers saw the same system", Limit: fmt.Sprintf("a p95 of %d times the median p95 of the others, beyond chance", UnlikeFactor), Effect: invalid + " where the unlike workers decide the verdict; else a limitation", EachFlow: true,
		Advice: "Look at that worker's host, its path to the target, and what the target's name resolves to there; replace it, and run again.",
		Source: "ours",
	},
	{
		ID: Receiver, What: "The workers' reports reached the record in time for abort conditions to see them", Limit: fmt.Sprintf("%d ms", MaxDelayMs), Unit: "ms", Effect: limitation,
		Advice: "Give the coordinator a CPU of its own and a network without outages, or use fewer workers.",
		Source: "ours",
	},
	{
		ID: Steady, What: "Latency does not drift within a judged window, and completions keep up with the schedule", Limit: fmt.Sprintf("a drift of %g %%, with 99 %% confidence; a backlog of %g %% of the arrivals", 100*MaxDrift, 100*MaxBehind), Unit: "share", Effect: "FAIL where the backlog grows behind a healthy generator; INVALID where the same drift again would break an SLO; else a limitation", Blames: System, EachFlow: true,
		Advice: "Find what changes during the window (caches that fill, tables that grow, other load); lengthen the warm-up or the hold.",
		Source: "TPC-E (steady state)",
	},
	{
		ID: Samples, What: "Every percentile has enough effective samples to be decided", Limit: "as many as its test needs", Unit: "share of the samples needed", Effect: "INCONCLUSIVE", EachFlow: true,
		Advice: "Hold longer, raise the rate, or use a lower percentile.",
		Source: "MLPerf LoadGen",
	},
	{
		ID: PerClass, What: "An SLO holds for each class of its samples (endpoint, method, group, check, statement, flow), not only for all together", Limit: "none broken, after Holm's correction", Unit: "classes", Effect: "FAIL; a class over its share that is not decided is a limitation", Blames: System, EachFlow: true,
		Advice: "Fix what breaks the SLO, or give that class an SLO of its own.",
		Source: "TPC-C (mix)",
	},
	{
		ID: CoLocation, What: "Generator, service and database have hosts of their own", Unit: "neighbours", Effect: limitation + ", printed in the claim",
		Advice: "Run the generator on a host of its own.",
		Source: "MLPerf (network division)",
	},
	{
		ID: Collector, What: "There are enough samples of the database to show where time went", Limit: fmt.Sprintf("at least %g %% of the samples, no gap over %.0f s", 100*MinCollected, MaxCollectorGap.Seconds()), Unit: "share", Effect: limitation + ", and the bottleneck is undetermined", Override: true,
		Advice: "Set ASSAY_DB to the database, with a user who may read performance_schema.",
		Source: "SPECjbb2015 (status pings)",
	},
	{
		ID: Data, What: "Every SLO has data in the judged window", Limit: "no SLO without data", Unit: "SLOs", Effect: invalid + ", unless the system's failure is certain all the same", EachFlow: true,
		Advice: "Check the metric's name and labels against what the scenario sends, or remove the SLO.",
		Source: "k6 (it lets empty metrics pass)",
	},
	{
		ID: Tool, What: "The program was built from a clean, known source", Effect: limitation,
		Advice: "Build from a clean checkout.",
		Source: "MLPerf LoadGen",
	},
	{
		ID: Attempts, What: "The number of runs of this profile at this target and revision of the service is stated, with the verdicts of those before", Unit: "runs", Effect: "shown; a limitation if unknown, or if one before did not pass",
		Advice: "Report all attempts together with this one; keep .assay/attempts.jsonl, and let the service report its build (a gauge like app_build_info).",
		Source: "benchstat (multiple testing)",
	},
}
