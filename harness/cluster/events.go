package cluster

import (
	"context"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// WhyNoPods is why the cluster does not create the pods of the Jobs whose names begin so,
// such as a quota, a policy, or a service account that is missing; empty: not known.
func (c *Cluster) WhyNoPods(ctx context.Context, prefix string) string {
	all, err := c.CoreV1().Events(c.Namespace).List(ctx, metav1.ListOptions{FieldSelector: "reason=FailedCreate,type=Warning"})
	if err != nil {
		return "" // it is only an explanation
	}
	why, last := "", metav1.Time{}
	for _, e := range all.Items {
		at := e.LastTimestamp
		if at.IsZero() {
			at = metav1.Time{Time: e.EventTime.Time}
		}
		if strings.HasPrefix(e.InvolvedObject.Name, prefix) && !at.Before(&last) {
			why, last = oneLine(e.Message), at
		}
	}
	return why
}
