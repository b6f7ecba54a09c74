package doctor

import (
	"fmt"

	"assay/harness/hint"
)

// CheckInstances is the check of the service's instances, in a cluster.
const CheckInstances = "instances"

// instances judges the instances of the service behind the target. Without a right to list
// them, its metrics are those of one instance at a time.
func instances(urls []string, err error) Finding {
	needed := "at least one that is ready"
	switch {
	case err != nil:
		return warn(CheckInstances, reason(err), needed, "the service's metrics cannot be read from each instance: "+err.Error(), hint.Of(err))
	case len(urls) == 0:
		return fail(CheckInstances, "none", needed, "the target's Service has no pod that is ready", "kubectl get endpointslices,pods")
	}
	return pass(CheckInstances, fmt.Sprintf("%d ready", len(urls)), needed)
}
