package metric

// What a transaction costs, as certificates, comparisons and experiments name it.
const (
	CostCommits     = "commits"
	CostFsyncs      = "fsyncs"
	CostRedo        = "redo written"
	CostDisk        = "disk written"
	CostDatabaseCPU = "CPU of the database"
	CostServiceCPU  = "CPU of the service"
)

// Costs lists them, in the order in which they are shown.
var Costs = []string{CostCommits, CostFsyncs, CostRedo, CostDisk, CostDatabaseCPU, CostServiceCPU}
