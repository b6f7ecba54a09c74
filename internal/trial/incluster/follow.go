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

	"assay.dev/assay/internal/cluster"
	"assay.dev/assay/internal/hint"
)

// follower reads the log of the coordinator's pod.
type follower struct {
	cluster *cluster.Cluster
	name    string // name of the run
	job     metav1.OwnerReference
	limit   time.Duration     // for the pod to start
	longest time.Duration     // longest time that the Job can be there
	say     func(line string) // reports progress
	seen    string            // pod that was seen running; empty: none yet
	away    error             // why the pod could not be asked for since then; nil: the API server answers
	doomed  time.Time         // when the pod was first seen to be deleted; zero: it is not
	unread  error             // why its log could not be opened last; nil: it could
	last    time.Time         // time of the last line
	problem string            // error that the coordinator has printed
	next    string            // and its hint
	why     string            // ": " and why the pod has not started; empty: not known
	said    []string          // values of why that were reported: reasons alternate
}

// errLost is the error of a coordinator that ended without a record.
var errLost = errors.New("its record is lost")

// follow reports the coordinator's progress, and returns its pod when the record can be
// collected. It fails if the coordinator has ended without one, and at the latest when
// the Job cannot be there any more.
func (f *follower) follow(ctx context.Context) (*corev1.Pod, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, f.longest, hint.With(
		fmt.Errorf("job/%s has no complete record after %s, the longest that it can take: %w", f.name, f.longest, errLost),
		fmt.Sprintf("kubectl describe job --namespace %s %s", f.cluster.Namespace, f.name),
	))
	defer cancel()
	began := time.Now()
	for {
		p, err := f.find(ctx)
		switch {
		case err != nil:
			return nil, err
		case p == nil && f.seen != "":
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
			f.seen = p.Name
			found, err := f.read(ctx, p)
			if found || err != nil {
				return p, err
			}
			if cluster.HasEnded(p) {
				return nil, f.ended(p)
			}
			if f.isGone(p) {
				return nil, hint.With(fmt.Errorf("the coordinator's pod %s was deleted and does not end (%w): %w", p.Name, f.unread, errLost),
					fmt.Sprintf("see whether its node %s is there: kubectl describe pod --namespace %s %s", p.Spec.NodeName, p.Namespace, p.Name))
			}
		}
		if err := cluster.Pause(ctx, askEvery); err != nil {
			return nil, err
		}
	}
}

// askEvery is the pause before the cluster is asked again.
const askEvery = 300 * time.Millisecond

// goneAfter is how long after its grace period a pod may take to end (ours). On a node that
// is gone nothing ends it: it keeps its phase.
const goneAfter = time.Minute

// isGone reports whether a pod that is being deleted should have ended, and its log cannot
// be read. Only this machine's clock counts, which may differ from the cluster's.
func (f *follower) isGone(p *corev1.Pod) bool {
	if p.DeletionTimestamp == nil {
		return false
	}
	if f.doomed.IsZero() {
		f.doomed = time.Now()
	}
	grace := endTimeout
	if seconds := p.DeletionGracePeriodSeconds; seconds != nil {
		grace = time.Duration(*seconds) * time.Second
	}
	return f.unread != nil && time.Since(f.doomed) > grace+goneAfter
}

// podTimeout is how long the cluster may take to create a pod.
const podTimeout = 2 * time.Minute

// find is the coordinator's pod; nil: there is none. Once the pod has been seen running,
// the run does not depend on this machine: an API server that is away is waited for until
// ctx is done.
func (f *follower) find(ctx context.Context) (*corev1.Pod, error) {
	for said := false; ; {
		p, err := f.pod(ctx)
		switch {
		case err == nil && said:
			f.say("the cluster answers again")
			return p, nil
		case err == nil:
			return p, nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case f.away == nil:
			return nil, err
		case !said:
			said = true
			f.say("the cluster does not answer, and the run goes on in it: " + err.Error())
		}
		if err := cluster.Pause(ctx, askEvery); err != nil {
			return nil, err
		}
	}
}

// pod asks for the coordinator's pod; nil: there is none.
func (f *follower) pod(ctx context.Context) (p *corev1.Pod, err error) {
	what := "find the coordinator's pod of job/" + f.name
	err = f.cluster.Retry(ctx, func(request context.Context) error {
		all, err := f.cluster.CoreV1().Pods(f.cluster.Namespace).List(request, cluster.PodsOf(f.job, f.name, cluster.Coordinator))
		if err == nil && len(all.Items) > 0 {
			p = &all.Items[0]
		}
		switch {
		case err == nil || f.cluster.Lasting(err) != nil:
			f.away = nil
		case ctx.Err() == nil && f.seen != "":
			f.away = f.cluster.Explain(what, err)
		}
		return err
	})
	if err != nil {
		return nil, f.cluster.Explain(what, err)
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

// readFor bounds the time that one stream of the log is read (ours): it may stay open, and
// silent, when the node is gone.
const readFor = time.Minute

// read reports the lines of the log that are new, until the record is complete or the
// stream ends, as it also does when the API server is away.
func (f *follower) read(ctx context.Context, p *corev1.Pod) (found bool, err error) {
	o := &corev1.PodLogOptions{Container: cluster.Container, Follow: true, Timestamps: true}
	if !f.last.IsZero() {
		o.SinceTime = &metav1.Time{Time: f.last}
	}
	limited, cancel := context.WithTimeout(ctx, readFor)
	defer cancel()
	stream, err := f.cluster.CoreV1().Pods(p.Namespace).GetLogs(p.Name, o).Stream(limited)
	if err != nil {
		f.unread = f.cluster.Explain("read the log of pod "+p.Name, err)
		switch {
		case ctx.Err() != nil:
			return false, context.Cause(ctx)
		case f.cluster.Lasting(err) != nil:
			return false, f.unread
		}
		return false, nil
	}
	f.unread = nil
	defer stream.Close()
	found, err = f.lines(stream)
	if err != nil && ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	return found, nil
}

// maxLogLine bounds what is read of a line of a log, bytes.
const maxLogLine = 64 << 10

// lines reports the lines of a log, each of which begins with its time, until the record
// is complete. It leaves out those that were reported before the stream was interrupted,
// as the API cuts by seconds. A line whose end is missing is read again.
func (f *follower) lines(log io.Reader) (found bool, err error) {
	reported := f.last
	for lines := bufio.NewReaderSize(log, maxLogLine); ; {
		part, err := lines.ReadSlice('\n')
		line := string(part)
		for errors.Is(err, bufio.ErrBufferFull) { // the rest of the line is left out
			_, err = lines.ReadSlice('\n')
		}
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
