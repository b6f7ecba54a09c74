package incluster

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"assay/harness/cluster"
	"assay/harness/hint"
)

// follower reads the log of the coordinator's pod.
type follower struct {
	cluster *cluster.Cluster
	name    string            // of the run
	say     func(line string) // reports progress
	last    time.Time         // of the last line
	refused time.Time         // since when reading the log is forbidden; zero: it is not
	problem string            // error that the coordinator has printed
	next    string            // and its hint
	within  time.Duration     // in which the pod must start
	said    map[string]bool   // why the pod has not started, as was reported
}

// errLost is the error of a coordinator that ended without a record.
var errLost = errors.New("its record is lost")

// follow reports the coordinator's progress, and returns its pod when the record can be
// collected. It fails if the coordinator has ended without one.
func (f *follower) follow(ctx context.Context) (*corev1.Pod, error) {
	began, why := time.Now(), ""
	for {
		p, err := f.pod(ctx)
		switch {
		case err != nil:
			return nil, err
		case p == nil && !f.last.IsZero():
			return nil, hint.With(fmt.Errorf("the coordinator's pod of job/%s was deleted: %w", f.name, errLost), "run again; see who deletes pods: kubectl get events")
		case p == nil && time.Since(began) > time.Second:
			why = f.report(f.cluster.WhyNoPods(ctx, f.name), why)
		case p != nil && p.Status.Phase == corev1.PodPending:
			why = f.report(cluster.Obstacle(p), why)
		case p != nil:
			found, err := f.read(ctx, p)
			if found || err != nil {
				return p, err
			}
			if cluster.HasEnded(p) {
				return nil, f.ended(p)
			}
			began = time.Now()
		}
		if time.Since(began) > f.within {
			return nil, hint.With(fmt.Errorf("the coordinator has not started within %s: %s", f.within, cmp.Or(why, "no reason given")),
				fmt.Sprintf("kubectl describe job,pod --namespace %s --selector %s", f.cluster.Namespace, cluster.ListOptions(f.name, cluster.Coordinator).LabelSelector))
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(300 * time.Millisecond):
		}
	}
}

// pod is the coordinator's; nil: there is none.
func (f *follower) pod(ctx context.Context) (p *corev1.Pod, err error) {
	err = f.cluster.Retry(ctx, func() error {
		all, err := f.cluster.CoreV1().Pods(f.cluster.Namespace).List(ctx, cluster.ListOptions(f.name, cluster.Coordinator))
		if err == nil && len(all.Items) > 0 {
			p = &all.Items[0]
		}
		return err
	})
	if err != nil {
		return nil, f.cluster.Explain("find the coordinator's pod of job/"+f.name, err)
	}
	return p, nil
}

// report says once why the pod has not started, and returns it; of nothing new, the last
// reason.
func (f *follower) report(why, last string) string {
	if why == "" {
		return last
	}
	if !f.said[why] {
		f.said[why] = true
		f.say("the coordinator has not started: " + why)
	}
	return why
}

// read reports the lines of the log that are new, until the record is complete or the
// stream ends, as it also does when the API server is away.
func (f *follower) read(ctx context.Context, p *corev1.Pod) (found bool, err error) {
	o := &corev1.PodLogOptions{Container: cluster.Container, Follow: true, Timestamps: true}
	if !f.last.IsZero() {
		o.SinceTime = &metav1.Time{Time: f.last}
	}
	stream, err := f.cluster.CoreV1().Pods(p.Namespace).GetLogs(p.Name, o).Stream(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		return false, f.lasting(err, p)
	}
	defer stream.Close() //nolint:errcheck // it is only read
	for lines := bufio.NewReader(stream); ; {
		line, err := lines.ReadString('\n')
		if err != nil { // a part of a line is read again
			if !errors.Is(err, io.EOF) && ctx.Err() != nil {
				return false, context.Cause(ctx)
			}
			return false, nil
		}
		stamp, text, _ := strings.Cut(strings.TrimRight(line, "\r\n"), " ")
		at, err := time.Parse(time.RFC3339Nano, stamp)
		if err != nil || !at.After(f.last) {
			continue // seen before the stream was interrupted: the API cuts by seconds
		}
		f.last = at
		if text == complete {
			return true, nil
		}
		f.line(text)
	}
}

// lasting is the error of a request for the log that will fail again; nil for one that may
// succeed later, as when the container has not started or the API server is away.
func (f *follower) lasting(err error, p *corev1.Pod) error {
	if !apierrors.IsForbidden(err) && !apierrors.IsUnauthorized(err) {
		f.refused = time.Time{}
		return nil
	}
	if f.refused.IsZero() {
		f.refused = time.Now()
	}
	if time.Since(f.refused) < cluster.ForbiddenFor {
		return nil
	}
	return f.cluster.Explain("read the log of pod "+p.Name, err)
}

// line reports a line, or keeps it if it is the coordinator's error.
func (f *follower) line(text string) {
	if problem, isProblem := strings.CutPrefix(text, "assay: "); isProblem {
		f.problem, f.next = problem, ""
	} else if next, isHint := strings.CutPrefix(text, "hint: "); isHint && f.problem != "" {
		f.next = next
	} else {
		f.say(text)
	}
}

// ended is the error of a coordinator that has ended without a record.
func (f *follower) ended(p *corev1.Pod) error {
	if f.problem != "" {
		return hint.With(errors.New(f.problem), f.next)
	}
	return hint.With(fmt.Errorf("the coordinator's pod %s ended (%s): %w", p.Name, cluster.StateOf(p), errLost),
		fmt.Sprintf("kubectl describe pod --namespace %s %s", p.Namespace, p.Name))
}
