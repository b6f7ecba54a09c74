package incluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"assay/harness/cluster"
	"assay/harness/hint"
)

// follower reads the log of the coordinator's pod.
type follower struct {
	cluster *cluster.Cluster
	name    string // of the run
	job     metav1.OwnerReference
	limit   time.Duration     // for the pod to start
	say     func(line string) // reports progress
	last    time.Time         // of the last line
	problem string            // error that the coordinator has printed
	next    string            // and its hint
	why     string            // ": " and why the pod has not started; empty: not known
	said    []string          // of why, what was reported: reasons alternate
}

// errLost is the error of a coordinator that ended without a record.
var errLost = errors.New("its record is lost")

// follow reports the coordinator's progress, and returns its pod when the record can be
// collected. It fails if the coordinator has ended without one.
func (f *follower) follow(ctx context.Context) (*corev1.Pod, error) {
	began := time.Now()
	for {
		p, err := f.pod(ctx)
		switch {
		case err != nil:
			return nil, err
		case p == nil && !f.last.IsZero():
			return nil, hint.With(fmt.Errorf("the coordinator's pod of job/%s was deleted: %w", f.name, errLost), "run again; see who deletes pods: kubectl get events --namespace "+f.cluster.Namespace)
		case p == nil && time.Since(began) > min(podTimeout, f.limit):
			return nil, hint.With(fmt.Errorf("job/%s has no pod after %s%s", f.name, min(podTimeout, f.limit), f.why), fmt.Sprintf("kubectl describe job --namespace %s %s", f.cluster.Namespace, f.name))
		case p == nil && time.Since(began) > time.Second:
			f.report(f.cluster.WhyNoPods(ctx, f.name, cluster.Coordinator))
		case p == nil:
		case p.Status.Phase == corev1.PodPending:
			f.report(cluster.Obstacle(p))
			if time.Since(began) > f.limit {
				return nil, hint.With(fmt.Errorf("the coordinator's pod %s has not started after %s%s", p.Name, f.limit, f.why),
					"remove what keeps it from starting, or allow more time: --join-timeout 30m")
			}
		default:
			found, err := f.read(ctx, p)
			if found || err != nil {
				return p, err
			}
			if cluster.HasEnded(p) {
				return nil, f.ended(p)
			}
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(300 * time.Millisecond):
		}
	}
}

// podTimeout is how long the cluster may take to create a pod.
const podTimeout = 2 * time.Minute

// pod is the coordinator's; nil: there is none.
func (f *follower) pod(ctx context.Context) (p *corev1.Pod, err error) {
	err = f.cluster.Retry(ctx, func(ctx context.Context) error {
		all, err := f.cluster.CoreV1().Pods(f.cluster.Namespace).List(ctx, cluster.PodsOf(f.job, f.name, cluster.Coordinator))
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

// report says why the pod has not started, once.
func (f *follower) report(why string) {
	if why == "" {
		return
	}
	f.why = ": " + why
	if !slices.Contains(f.said, why) {
		f.said = append(f.said, why)
		f.say("the coordinator has not started: " + why)
	}
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
		if err = f.cluster.Lasting(err); err != nil {
			err = f.cluster.Explain("read the log of pod "+p.Name, err)
		}
		return false, err
	}
	defer stream.Close() //nolint:errcheck // it is only read
	found, err = f.lines(stream)
	if err != nil && ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	return found, nil
}

// lines reports the lines of a log, each of which begins with its time, until the record
// is complete. It leaves out those that were reported before the stream was interrupted,
// as the API cuts by seconds. A line whose end is missing is read again.
func (f *follower) lines(log io.Reader) (found bool, err error) {
	reported := f.last
	for lines := bufio.NewReader(log); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			return false, err
		}
		stamp, text, _ := strings.Cut(strings.TrimRight(line, "\r\n"), " ")
		at, err := time.Parse(time.RFC3339Nano, stamp)
		if err != nil || !at.After(reported) {
			continue
		}
		// All that follow are new, also if the node's clock is set back.
		f.last, reported = at, time.Time{}
		if text == complete {
			return true, nil
		}
		f.line(text)
	}
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
