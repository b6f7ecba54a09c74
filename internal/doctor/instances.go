package doctor

import (
	"fmt"
	"strings"

	"assay.dev/assay/internal/hint"
)

// CheckInstances is the check of the service's instances, in a cluster.
const CheckInstances = "instances"

// instances judges the instances of the target's Service, NAMESPACE/NAME. Without a right to
// list them, its metrics are those of one instance at a time.
func instances(service string, urls []string, err error) Finding {
	needed := "at least one that is ready"
	switch {
	case err != nil:
		return warn(CheckInstances, reason(err), needed, "the service's metrics cannot be read from each instance: "+err.Error(), hint.Of(err))
	case len(urls) == 0:
		namespace, _, _ := strings.Cut(service, "/")
		return fail(CheckInstances, "none", needed, fmt.Sprintf("the target's Service %s has no pod that is ready", service), "kubectl get endpointslices,pods --namespace "+namespace)
	}
	return pass(CheckInstances, fmt.Sprintf("%d ready", len(urls)), needed)
}
