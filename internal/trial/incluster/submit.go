package incluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"al.essio.dev/pkg/shellescape"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"assay.dev/assay/internal/cluster"
	"assay.dev/assay/internal/hint"
)

// Run creates the coordinator's Job, reports its progress, brings the sealed record to
// dir, and removes all that it has created. When ctx is done the run is interrupted, and
// its record is brought all the same; when force is done too, the record is not waited
// for. If the error is ErrNotRemoved, the record is in dir.
//
// A complete record that cannot be brought is left in its pod, for holdFor, and so is a run
// whose cluster does not answer: see isLeft.
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
		if isLeft(err) && force.Err() == nil {
			return
		}
		removed := remove(c, j.Name, created, earlier)
		if err == nil && removed != nil {
			err = notRemoved(c.Namespace, j.Name, created, removed)
			return
		}
		err = errors.Join(err, removed)
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
	return bring(ctx, force, &follower{
		cluster: c, name: j.Name, job: created[0], limit: j.StartTimeout, longest: j.Longest + holdFor, say: say,
	}, dir)
}

// bring follows a run to its end and brings its record to dir.
func bring(ctx, force context.Context, f *follower, dir string) error {
	p, err := f.follow(ctx)
	if err != nil && ctx.Err() != nil {
		f.say("interrupting the run; again: give up its record")
		p, err = f.interrupt(force)
	}
	switch {
	case err != nil && f.away != nil:
		return hint.With(fmt.Errorf("%w: %w", errOutOfReach, f.away), "once it answers, within an hour of the run's end: "+f.fetch(dir))
	case err != nil:
		return err
	}
	f.say("collecting the record")
	if err := collect(force, f.cluster, p, dir); err != nil {
		return hint.With(fmt.Errorf("%w: %w", errNotCollected, err), "within an hour: "+f.fetch(dir))
	}
	return nil
}

// Errors of a run that is left in the cluster.
var (
	errNotCollected = leftError("the record is complete, and waits in the pod")
	errOutOfReach   = leftError("the cluster does not answer, and the run goes on in it")
)

// leftError says that a run is left in the cluster, where its record can be collected.
type leftError string

func (e leftError) Error() string { return string(e) }

// Lasting: the error is told even where the command was interrupted.
func (leftError) Lasting() bool { return true }

// isLeft reports whether a run is left in the cluster, where its record can be collected.
func isLeft(err error) bool { return errors.Is(err, errNotCollected) || errors.Is(err, errOutOfReach) }

// fetch says how a record is collected by hand, and the run removed. The folder may exist.
func (f *follower) fetch(dir string) string {
	namespace := f.cluster.Namespace
	folder := shellescape.Quote(dir)
	return strings.Join([]string{
		"mkdir -p " + folder,
		fmt.Sprintf("kubectl exec --namespace %s %s -- assay kubernetes export | tar xz -C %s", namespace, f.seen, folder),
		fmt.Sprintf("kubectl delete --namespace %s job/%s", namespace, f.name),
		"assay judge " + folder, // last: it fails if the verdict is FAIL
	}, " && ")
}

// ErrNotRemoved is the error of a run whose record was brought, and of which something is
// left in the cluster.
var ErrNotRemoved = errors.New("the record was brought back, and the run is not removed from the cluster")

// notRemoved names what may be left, and the command that removes it: also a pod whose
// node is gone, for which the cluster would wait.
func notRemoved(namespace, name string, created []metav1.OwnerReference, cause error) error {
	var left []string
	for _, o := range created {
		left = append(left, strings.ToLower(o.Kind)+"/"+o.Name)
	}
	return hint.With(
		fmt.Errorf("%w: %s", ErrNotRemoved, strings.ReplaceAll(cause.Error(), "\n", "; ")),
		fmt.Sprintf("kubectl delete --namespace %s --ignore-not-found --wait=false %s && kubectl delete pods --namespace %s --selector app.kubernetes.io/managed-by=assay,app.kubernetes.io/instance=%s --force",
			namespace, strings.Join(left, " "), namespace, name),
	)
}

// interrupt ends the run, and waits for its record.
func (f *follower) interrupt(ctx context.Context) (*corev1.Pod, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, endTimeout, fmt.Errorf("the coordinator has not ended the run within %s", endTimeout))
	defer cancel()
	for {
		p, err := f.find(ctx)
		switch {
		case err != nil:
			return nil, err
		case p == nil || p.Status.Phase == corev1.PodPending:
			return nil, context.Canceled // no run has begun
		case cluster.HasEnded(p):
			return f.follow(ctx)
		}
		if err = execute(ctx, f.cluster, p, io.Discard, "interrupt"); err == nil {
			return f.follow(ctx)
		}
		if f.cluster.Lasting(err) != nil || cluster.Pause(ctx, askEvery) != nil {
			return nil, f.cluster.Explain("interrupt the run in pod "+p.Name, err)
		}
	}
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
