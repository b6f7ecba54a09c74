package kubernetes

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"assay/harness/cluster"
	"assay/harness/load/fleet"
	"assay/harness/wire"
)

// TestRun is the part of the k6-operator's resource that is used (k6.io/v1alpha1, as of
// k6-operator v1.5.0: api/v1alpha1/testrun_types.go).
type TestRun struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec TestRunSpec `json:"spec"`
}

// TestRunSpec is what is asked of the k6-operator.
type TestRunSpec struct {
	Parallelism int32  `json:"parallelism"`
	Script      Script `json:"script"`
	Cleanup     string `json:"cleanup,omitempty"` // "post": the operator removes the TestRun at its end
	Initializer Pod    `json:"initializer"`
	Starter     Pod    `json:"starter"`
	Runner      Pod    `json:"runner"`
}

// Script is where the operator finds the script.
type Script struct {
	ConfigMap ScriptConfigMap `json:"configMap"`
}

// ScriptConfigMap names a key of a ConfigMap.
type ScriptConfigMap struct {
	Name string `json:"name"`
	File string `json:"file"`
}

// Pod describes the pods of one kind. Patches merge its lists as they merge those of a
// Kubernetes pod.
type Pod struct {
	Disabled                     bool                              `json:"disabled,omitempty"` // of the initializer
	Image                        string                            `json:"image,omitempty"`
	ImagePullPolicy              corev1.PullPolicy                 `json:"imagePullPolicy,omitempty"`
	ImagePullSecrets             []corev1.LocalObjectReference     `json:"imagePullSecrets,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
	AutomountServiceAccountToken string                            `json:"automountServiceAccountToken,omitempty"`
	ServiceAccountName           string                            `json:"serviceAccountName,omitempty"`
	Metadata                     PodMetadata                       `json:"metadata,omitzero"`
	Affinity                     *corev1.Affinity                  `json:"affinity,omitempty"`
	NodeSelector                 map[string]string                 `json:"nodeSelector,omitempty"`
	PriorityClassName            string                            `json:"priorityClassName,omitempty"`
	SchedulerName                string                            `json:"schedulerName,omitempty"`
	Tolerations                  []corev1.Toleration               `json:"tolerations,omitempty"`
	TopologySpreadConstraints    []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty" patchStrategy:"merge" patchMergeKey:"topologyKey"`
	Env                          []corev1.EnvVar                   `json:"env,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
	EnvFrom                      []corev1.EnvFromSource            `json:"envFrom,omitempty"`
	Resources                    corev1.ResourceRequirements       `json:"resources,omitzero"`
	SecurityContext              *corev1.PodSecurityContext        `json:"securityContext,omitempty"`
	ContainerSecurityContext     *corev1.SecurityContext           `json:"containerSecurityContext,omitempty"`
	Volumes                      []corev1.Volume                   `json:"volumes,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
	VolumeMounts                 []corev1.VolumeMount              `json:"volumeMounts,omitempty" patchStrategy:"merge" patchMergeKey:"mountPath"`
}

// PodMetadata are labels and annotations of pods.
type PodMetadata struct {
	Annotations map[string]string `json:"annotations,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
}

// DeepCopyObject makes TestRun a runtime.Object.
func (t *TestRun) DeepCopyObject() runtime.Object {
	c := *t
	t.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	return &c
}

const (
	scriptFile = "script.js"
	scriptText = "// Workers get the script from the coordinator, whose address is in " + wire.EnvJoin + ".\n"
)

// testRun asks the k6-operator for runners. Each runs `k6 run`, which the image's program
// answers by joining the coordinator (wire.EnvJoin). The initializer is not needed, as the
// coordinator has initialised the script already. It also needs a shell.
func (s Settings) testRun(l fleet.Launch) *TestRun {
	scratch, mount := cluster.ScratchVolume()
	return &TestRun{
		TypeMeta:   metav1.TypeMeta{APIVersion: "k6.io/v1alpha1", Kind: "TestRun"},
		ObjectMeta: s.meta(s.workersName()),
		Spec: TestRunSpec{
			Parallelism: int32(l.Workers), Cleanup: "post",
			Script:      Script{ScriptConfigMap{Name: s.workersName(), File: scriptFile}},
			Initializer: Pod{Disabled: true},
			Starter: Pod{
				AutomountServiceAccountToken: strconv.FormatBool(false),
				SecurityContext:              cluster.PodSecurity(), ContainerSecurityContext: cluster.ContainerSecurity(),
			},
			Runner: Pod{
				Image: s.Image, AutomountServiceAccountToken: strconv.FormatBool(false), Metadata: PodMetadata{Labels: cluster.Labels(s.Name, cluster.Worker), Annotations: cluster.Annotations()},
				TopologySpreadConstraints: s.spread(), Env: append(s.env(), corev1.EnvVar{Name: wire.EnvJoin, Value: l.Address}),
				Resources: s.Worker.Requirements(), SecurityContext: cluster.PodSecurity(), ContainerSecurityContext: cluster.ContainerSecurity(),
				Volumes: []corev1.Volume{scratch}, VolumeMounts: []corev1.VolumeMount{mount},
			},
		},
	}
}

// script is the file that the operator wants, and that nobody runs.
func (s Settings) script() *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: s.meta(s.workersName()),
		Data:       map[string]string{scriptFile: scriptText},
	}
}
