package kubernetes

import (
	"math"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"assay.dev/assay/internal/cluster"
	"assay.dev/assay/internal/load/fleet"
	"assay.dev/assay/internal/wire"
)

// Settings are what the manifests need to know of the cluster.
type Settings struct {
	Name      string // name of the run in the namespace; its objects are named after it
	Namespace string
	Image     string // with this program
	Worker    cluster.Resources
	Operator  bool          // workers are runners of the k6-operator, instead of pods of a Job
	Patch     cluster.Patch // patch of the manifests
}

const (
	// endTimeout is how long a worker that is to end may take: k6 interrupts its
	// iterations and runs teardown(), and the worker delivers the last reports.
	endTimeout = 90 * time.Second
	// removeAfter is how long what is left of a fleet stays, if its coordinator cannot
	// remove it any more.
	removeAfter = 30 * time.Second
)

// tokenKey is the key of the run's token in its Secret.
const tokenKey = "token"

func (s Settings) workersName() string { return s.Name + "-workers" }

// Manifests are the objects of a fleet. The first one owns the others.
func (s Settings) Manifests(l fleet.Launch) ([]runtime.Object, error) {
	all := []runtime.Object{s.job(l), s.secret(l)}
	if s.Operator {
		all = []runtime.Object{s.newTestRun(l), s.secret(l), s.script()}
	}
	policy, err := s.networkPolicy(l)
	if err != nil {
		return nil, err
	}
	return s.Patch.Apply(append(all, policy))
}

func (s Settings) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: s.Namespace, Labels: cluster.Labels(s.Name, cluster.Worker)}
}

// secret holds the run's token.
func (s Settings) secret(l fleet.Launch) *corev1.Secret {
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: s.meta(s.workersName()),
		Immutable:  new(true),
		StringData: map[string]string{tokenKey: l.Token},
	}
}

// job runs each worker once. A worker that ends is not replaced, because the run is over,
// and does not end the others, which report to their end.
func (s Settings) job(l fleet.Launch) *batchv1.Job {
	workers := int32(l.Workers)
	scratch, mount := cluster.ScratchVolume()
	return &batchv1.Job{
		TypeMeta:   metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
		ObjectMeta: s.meta(s.workersName()),
		Spec: batchv1.JobSpec{
			CompletionMode: new(batchv1.IndexedCompletion), Parallelism: &workers, Completions: &workers,
			BackoffLimitPerIndex: new(int32(0)), ActiveDeadlineSeconds: new(seconds(l.Longest)),
			TTLSecondsAfterFinished: new(int32(removeAfter / time.Second)),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: cluster.Labels(s.Name, cluster.Worker), Annotations: cluster.Annotations()},
				Spec: corev1.PodSpec{
					RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: new(seconds(endTimeout)),
					AutomountServiceAccountToken: new(false), EnableServiceLinks: new(false),
					SecurityContext: cluster.PodSecurity(), TopologySpreadConstraints: s.spread(), Volumes: []corev1.Volume{scratch},
					Containers: []corev1.Container{{
						Name: cluster.Container, Image: s.Image, Args: []string{"worker", "--join", l.Address, "--dir", cluster.Scratch},
						Env: s.env(), Resources: s.Worker.Requirements(), SecurityContext: cluster.ContainerSecurity(),
						VolumeMounts: []corev1.VolumeMount{mount}, TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
					}},
				},
			},
		},
	}
}

// env tells a worker the run's token, and where it is.
func (s Settings) env() []corev1.EnvVar {
	return []corev1.EnvVar{
		cluster.FromSecret(wire.EnvJoinToken, s.workersName(), tokenKey),
		cluster.Field(wire.EnvPodName, "metadata.name"),
		cluster.Field("ASSAY_POD_NAMESPACE", "metadata.namespace"),
		{Name: wire.EnvPod, Value: "$(ASSAY_POD_NAMESPACE)/$(" + wire.EnvPodName + ")"},
		cluster.Field(wire.EnvNode, "spec.nodeName"),
	}
}

// spread puts workers on different nodes as far as there are enough.
func (s Settings) spread() []corev1.TopologySpreadConstraint {
	return []corev1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway,
		LabelSelector: &metav1.LabelSelector{MatchLabels: cluster.Selector(s.Name, cluster.Worker)},
	}}
}

func seconds(d time.Duration) int64 { return int64(math.Ceil(d.Seconds())) }
