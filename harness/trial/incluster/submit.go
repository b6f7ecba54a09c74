package incluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"assay/harness/cluster"
	"assay/harness/hint"
)

// Run creates the coordinator's Job, reports its progress, brings the sealed record to
// dir, and removes all that it has created. When ctx is done the run is interrupted, and
// its record is brought all the same; when force is done too, it is not waited for. A
// complete record that cannot be brought is left in its pod, for HoldFor.
func Run(ctx, force context.Context, c *cluster.Cluster, j Job, dir string, say func(string)) (err error) {
	objects, err := j.Manifests()
	if err != nil {
		return err
	}
	earlier, err := c.Pods(ctx, j.Name)
	if err != nil {
		return err
	}
	var created []metav1.OwnerReference
	defer func() {
		if !errors.Is(err, ErrNotCollected) || force.Err() != nil {
			err = errors.Join(err, remove(c, j.Name, created, earlier))
		}
	}()
	for i, o := range objects {
		var owner *metav1.OwnerReference
		if i > 0 {
			owner = &created[0]
		}
		reference, err := c.Create(ctx, o, owner)
		if err != nil {
			return err
		}
		created = append(created, *reference)
	}
	say(fmt.Sprintf("created job/%s in namespace %s", j.Name, c.Namespace))
	return bring(ctx, force, &follower{cluster: c, name: j.Name, job: created[0], limit: j.StartTimeout, say: say}, dir)
}

// bring follows a run to its end and brings its record to dir.
func bring(ctx, force context.Context, f *follower, dir string) error {
	p, err := f.follow(ctx)
	if err != nil && ctx.Err() != nil {
		f.say("interrupting the run; again: give up its record")
		p, err = f.interrupt(force)
	}
	if err != nil {
		return err
	}
	f.say("collecting the record")
	if err := collect(force, f.cluster, p, dir); err != nil {
		return hint.With(fmt.Errorf("%w: %w", ErrNotCollected, err), fmt.Sprintf(
			"within %s: mkdir %s && kubectl exec --namespace %s %s -- assay kubernetes export | tar xz -C %s && assay judge %s && kubectl delete job --namespace %s %s",
			HoldFor, dir, p.Namespace, p.Name, dir, dir, p.Namespace, f.name,
		))
	}
	return nil
}

// ErrNotCollected is the error of a complete record that is left in its pod.
var ErrNotCollected = errors.New("the record is complete, and waits in the pod")

// interrupt ends the run, and waits for its record.
func (f *follower) interrupt(ctx context.Context) (*corev1.Pod, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, endTimeout, fmt.Errorf("the coordinator has not ended the run within %s", endTimeout))
	defer cancel()
	p, err := f.pod(ctx)
	switch {
	case err != nil:
		return nil, err
	case p == nil || p.Status.Phase == corev1.PodPending:
		return nil, context.Canceled // no run has begun
	}
	if err := execute(ctx, f.cluster, p, io.Discard, "interrupt"); err != nil {
		return nil, f.cluster.Explain("interrupt the run in pod "+p.Name, err)
	}
	return f.follow(ctx)
}

// removeTimeout is how long the cluster may take to remove what was created.
const removeTimeout = endTimeout + time.Minute

func remove(c *cluster.Cluster, name string, created []metav1.OwnerReference, earlier []types.UID) error {
	ctx, cancel := context.WithTimeout(context.Background(), removeTimeout)
	defer cancel()
	var errs []error
	for i := len(created) - 1; i >= 0; i-- {
		errs = append(errs, c.Remove(ctx, created[i]))
	}
	if len(created) > 0 { // the workers' pods, of a coordinator that could not remove them
		errs = append(errs, c.AwaitGone(ctx, name, earlier))
	}
	return errors.Join(errs...)
}
