package cluster

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"assay.dev/assay/internal/mask"
)

// WhyNoPods is why the cluster does not create the pods of a component of a run, such as a
// quota, a policy, or a service account that is missing; empty: not known.
func (c *Cluster) WhyNoPods(ctx context.Context, name, component string) string {
	all, err := c.CoreV1().Events(c.Namespace).List(ctx, metav1.ListOptions{FieldSelector: "reason=FailedCreate,type=Warning"})
	if err != nil {
		return "" // it is only an explanation
	}
	slices.SortStableFunc(all.Items, func(a, b corev1.Event) int { return lastSeen(b).Compare(lastSeen(a)) })
	selector := labels.SelectorFromSet(Selector(name, component))
	for _, e := range all.Items {
		of := e.InvolvedObject
		if of.Kind != "Job" || !strings.HasPrefix(of.Name, name) {
			continue
		}
		// Events outlive their Job by an hour: another one may have its name now.
		job, err := c.BatchV1().Jobs(c.Namespace).Get(ctx, of.Name, metav1.GetOptions{})
		if err == nil && job.UID == of.UID && selector.Matches(labels.Set(job.Labels)) {
			return mask.Line(withoutSuffixes(mask.Text(e.Message), of.Name), maxMessage)
		}
	}
	return ""
}

// withoutSuffixes shortens the names of a Job's pods: each attempt to create one has a
// suffix of its own.
func withoutSuffixes(message, job string) string {
	return regexp.MustCompile(`("`+regexp.QuoteMeta(job)+`(-[0-9]+)?)-[a-z0-9]{5}"`).ReplaceAllString(message, `$1"`)
}

// lastSeen is when an event was last seen: recorders of two kinds note it in different
// fields.
func lastSeen(e corev1.Event) time.Time {
	last := e.LastTimestamp.Time
	for _, at := range []time.Time{e.EventTime.Time, e.CreationTimestamp.Time} {
		if last.IsZero() {
			last = at
		}
	}
	return last
}
