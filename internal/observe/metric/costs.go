// SPDX-License-Identifier: Apache-2.0

package metric

// Costs of a transaction, as certificates, comparisons and experiments name them.
const (
	CostCommits     = "commits"
	CostFsyncs      = "fsyncs"
	CostRedo        = "redo written"
	CostDisk        = "disk written"
	CostDatabaseCPU = "CPU of the database"
	CostServiceCPU  = "CPU of the service"
)

// Costs lists all of them, in display order.
var Costs = []string{CostCommits, CostFsyncs, CostRedo, CostDisk, CostDatabaseCPU, CostServiceCPU}
