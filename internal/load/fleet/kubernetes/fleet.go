package kubernetes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"assay.dev/assay/internal/cluster"
	"assay.dev/assay/internal/cluster/client"
	"assay.dev/assay/internal/crash"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/load/fleet"
	"assay.dev/assay/internal/observe/record"
)

// Engine runs workers in a namespace of a cluster.
type Engine struct {
	Settings
	Cluster *cluster.Cluster
	Owner   *metav1.OwnerReference // with which the cluster removes the workers: the coordinator's pod; nil: none
}

var _ fleet.Engine = Engine{}

// Fleet are the pods of a run.
type Fleet struct {
	Engine
	run     string // id
	workers int
	created []metav1.OwnerReference // in the order of creation
	ended   chan fleet.Ended
	stop    context.CancelFunc // ends the watch
	watch   crash.Group
	own     []string // names of the containers of the manifests

	mu      sync.Mutex
	pods    map[string]*pod // by NAMESPACE/NAME
	killing bool            // Kill was called
	blind   error           // why pods cannot be followed; nil: they can
}

// pod is what is known of a pod.
type pod struct {
	state    record.Pod
	obstacle string
	added    []string // containers
	ended    bool
}

// Start creates the objects of the fleet. If one cannot be created the others are
// removed.
func (e Engine) Start(ctx context.Context, l fleet.Launch) (fleet.Workers, error) {
	objects, err := e.Manifests(l)
	if err != nil {
		return nil, err
	}
	f := &Fleet{Engine: e, run: l.Run, workers: l.Workers, ended: make(chan fleet.Ended, l.Workers), pods: map[string]*pod{}}
	if err := f.create(ctx, objects); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// create creates the first object, which owns the others, without workers: if this
// process is killed before all are there, the cluster removes them.
func (f *Fleet) create(ctx context.Context, objects []runtime.Object) error {
	job, isJob := objects[0].(*batchv1.Job)
	if isJob {
		f.own = cluster.Containers(job.Spec.Template.Spec)
		job.Spec.Parallelism = new(int32(0))
	} else {
		f.own = []string{cluster.RunnerContainer}
	}
	owner := f.Owner
	for _, o := range objects {
		created, err := f.Cluster.Create(ctx, o, owner)
		if err != nil {
			return err
		}
		f.created = append(f.created, *created)
		if len(f.created) == 1 {
			owner = created
		}
	}
	f.startWatch()
	if !isJob {
		return nil
	}
	patch := []byte(fmt.Sprintf(`{"spec":{"parallelism":%d}}`, f.workers))
	err := f.Cluster.Retry(ctx, func(ctx context.Context) error {
		_, err := f.Cluster.BatchV1().Jobs(f.Cluster.Namespace).Patch(ctx, job.Name, types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	})
	if err != nil {
		return f.Cluster.Explain("start the pods of job/"+job.Name, err)
	}
	return nil
}

// selection selects the workers' pods.
func (f *Fleet) selection() metav1.ListOptions {
	if f.Operator {
		return metav1.ListOptions{LabelSelector: labels.Set(runnerLabels(f.Name, f.run)).String()}
	}
	return cluster.PodsOf(f.created[0], f.Name, cluster.Worker)
}

// startWatch follows the pods. The watch goes on after the API server was away.
func (f *Fleet) startWatch() {
	ctx, cancel := context.WithCancel(context.Background())
	f.stop = cancel
	informer := client.Informer(f.Cluster.Interface, f.Cluster.CoreV1().Pods(f.Cluster.Namespace), &corev1.Pod{}, f.selection().LabelSelector)
	_ = informer.SetWatchErrorHandler(func(_ *cache.Reflector, err error) { f.notSeen(ctx, err) }) // fails only if the watch has begun
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{                               // fails only if the watch has ended
		AddFunc:    func(o any) { f.seen(o, false) },
		UpdateFunc: func(_, o any) { f.seen(o, false) },
		DeleteFunc: func(o any) { f.seen(o, true) },
	})
	f.watch.Go(func() { informer.RunWithContext(ctx) })
}

// notSeen notes why pods cannot be followed, if that will not change.
func (f *Fleet) notSeen(ctx context.Context, err error) {
	f.mu.Lock()
	known := f.blind != nil
	f.mu.Unlock()
	if err = f.Cluster.Lasting(err); err == nil || known || ctx.Err() != nil {
		return
	}
	blind := f.Cluster.Explain("follow the pods of "+f.Name, err)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.blind = blind
}

// seen notes a pod's state.
func (f *Fleet) seen(o any, gone bool) {
	if last, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = last.Obj
	}
	p, ok := o.(*corev1.Pod)
	if !ok {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	said := cluster.StateOf(p)
	state := record.Pod{
		Name: p.Namespace + "/" + p.Name, Node: p.Spec.NodeName, Phase: string(p.Status.Phase),
		Reason: said.Reason, Message: said.Message, ExitCode: said.ExitCode, Restarts: said.Restarts,
	}
	known := f.pods[state.Name]
	if known == nil {
		known = &pod{}
		f.pods[state.Name] = known
	}
	if gone && state.ExitCode == nil {
		state.Reason = cmp.Or(state.Reason, cluster.Deleted)
	}
	switch before := known.state; {
	case before.Reason != "": // the first reason is the cause of what follows
		state.Reason, state.Message, state.At = before.Reason, before.Message, before.At
	case known.ended || f.killing: // what is removed now has ended before, or is ended by Kill
		state.Reason, state.Message = "", ""
	case state.Reason != "":
		state.At = time.Now().UTC()
	}
	known.state, known.obstacle, known.added = state, cluster.Obstacle(p), cluster.Added(p, f.own)
	if !known.ended && (gone || cluster.HasEnded(p)) {
		known.ended = true
		select {
		case f.ended <- fleet.Ended{Pod: state.Name, Status: f.status(state), Output: cmp.Or(reason(state), said.Log)}:
		default: // more pods than workers: the cluster has replaced some
		}
	}
}

// killedExit is the exit code of a container whose process was killed: 128 and the number
// of the signal.
const killedExit = 137

// status is the exit of a worker whose pod has ended.
func (f *Fleet) status(p record.Pod) string {
	const killed = "signal: killed" // as of a process on this host
	switch {
	case p.ExitCode == nil && p.Reason == "" && f.killing, p.ExitCode != nil && p.Reason == "" && *p.ExitCode == killedExit:
		return killed
	case p.ExitCode == nil:
		return fleet.Lost
	}
	return strconv.Itoa(*p.ExitCode)
}

// reason is why a pod ended, in words; empty: by itself.
func reason(p record.Pod) string {
	if p.Reason == "" || p.Message == "" {
		return p.Reason
	}
	return p.Reason + ": " + p.Message
}

// Ended receives how each pod ended.
func (f *Fleet) Ended() <-chan fleet.Ended { return f.ended }

// Obstacles says why pods have not started, and what was added to them.
func (f *Fleet) Obstacles() (texts []string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	f.mu.Lock()
	known := len(f.pods)
	f.mu.Unlock()
	if known < f.workers {
		if why := f.Cluster.WhyNoPods(ctx, f.Name, cluster.Worker); why != "" {
			texts = append(texts, fmt.Sprintf("%d of %d pods were created: %s", known, f.workers, why))
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.blind != nil {
		texts = append(texts, f.blind.Error())
	}
	for _, name := range slices.Sorted(maps.Keys(f.pods)) {
		k := f.pods[name]
		if k.obstacle != "" {
			texts = append(texts, k.obstacle)
		}
		if len(k.added) > 0 {
			texts = append(texts, fmt.Sprintf("pod %s has containers that Assay did not ask for: %s", name, strings.Join(k.added, ", ")))
		}
	}
	return texts
}

// Resume does nothing: pods cannot be suspended.
func (f *Fleet) Resume() {}

// killTimeout bounds the requests that end pods.
const killTimeout = 10 * time.Second

// Kill ends the pods at once.
func (f *Fleet) Kill() {
	f.mu.Lock()
	f.killing = true
	f.mu.Unlock()
	f.deletePods(context.Background())
}

// deletePods deletes the pods, without waiting for their nodes to end them.
func (f *Fleet) deletePods(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, killTimeout)
	defer cancel()
	now := metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}
	_ = f.Cluster.CoreV1().Pods(f.Cluster.Namespace).DeleteCollection(ctx, now, f.selection()) // Close reports what is left
}

// Pods is the state of each pod.
func (f *Fleet) Pods(ctx context.Context) map[string]record.Pod {
	for {
		f.mu.Lock()
		all, complete := map[string]record.Pod{}, true
		for name, k := range f.pods {
			all[name] = k.state
			complete = complete && k.ended
		}
		f.mu.Unlock()
		if complete || cluster.Pause(ctx, 100*time.Millisecond) != nil {
			return all
		}
	}
}

const (
	// forceAfter is when pods that are still there were not ended by their node, which has
	// the grace period and a little more for it.
	forceAfter = endTimeout + 10*time.Second
	// closeTimeout is how long the cluster may take to remove the fleet.
	closeTimeout = endTimeout + time.Minute
)

// Close removes all objects, and returns when they and the pods are gone. Pods whose node
// does not end them, because it is dead or cut off, are removed all the same.
func (f *Fleet) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	kinds := []string{"pod"} // kinds of the objects that are left
	var texts []string
	for _, o := range slices.Backward(f.created) {
		if err := f.remove(ctx, o); err != nil {
			kinds, texts = append(kinds, strings.ToLower(o.Kind)), append(texts, err.Error())
		}
	}
	if f.stop != nil {
		f.stop()
		f.watch.Wait()
	}
	if texts == nil {
		return nil
	}
	return hint.With(errors.New(strings.Join(texts, "; ")), fmt.Sprintf("kubectl delete --namespace %s %s --selector %s --grace-period=0 --force",
		f.Cluster.Namespace, strings.Join(kinds, ","), cluster.ListOptions(f.Name, cluster.Worker).LabelSelector))
}

// remove removes an object and all that it owns.
func (f *Fleet) remove(ctx context.Context, o metav1.OwnerReference) error {
	graceful, cancel := context.WithTimeout(ctx, forceAfter)
	defer cancel()
	err := f.Cluster.Remove(graceful, o)
	if graceful.Err() == nil || ctx.Err() != nil {
		return err
	}
	f.deletePods(ctx)
	return f.Cluster.Remove(ctx, o)
}
