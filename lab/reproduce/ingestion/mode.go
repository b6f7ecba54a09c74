package ingestion

// mode is a way to run the reference service.
type mode struct {
	name string
	args []string // of `assay-lab target`
	kill bool     // the service is killed when the judged load has ended
}

// channelArgs let the queue grow as long as memory lasts, as in the field report.
var channelArgs = []string{"--ingest", "channel", "--ingest-queue", "10000000", "--drain-timeout", "10m"}

// modes are those of the field report, in its order.
var modes = []mode{
	{name: "direct, a pool for each request", args: []string{"--ingest", "direct", "--pool-per-request"}},
	{name: "direct, pool keeps 2", args: []string{"--ingest", "direct", "--pool-max-open", "0", "--pool-max-idle", "2"}},
	{name: "direct, pool of 8", args: []string{"--ingest", "direct", "--pool-max-open", "8"}},
	{name: "bulk", args: []string{"--ingest", "bulk"}},
	{name: "channel", args: channelArgs},
	// Each event waits for its INSERT for a second: that long is what a kill loses.
	{name: "channel, killed", args: append(channelArgs[:len(channelArgs):len(channelArgs)], "--ingest-wait", "1s"), kill: true},
}
