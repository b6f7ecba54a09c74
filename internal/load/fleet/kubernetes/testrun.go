package kubernetes

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"assay.dev/assay/internal/cluster"
	"assay.dev/assay/internal/load/fleet"
	"assay.dev/assay/internal/wire"
)

// testRun is the part of the k6-operator's resource that is used (k6.io/v1alpha1, as of
// k6-operator v1.5.0: api/v1alpha1/testrun_types.go).
type testRun struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec testRunSpec `json:"spec"`
}

// testRunSpec is what is asked of the k6-operator.
type testRunSpec struct {
	Parallelism int32         `json:"parallelism"`
	Script      testRunScript `json:"script"`
	Cleanup     string        `json:"cleanup,omitempty"` // "post": the operator removes the TestRun at its end
	Initializer testRunPod    `json:"initializer"`
	Starter     testRunPod    `json:"starter"`
	Runner      testRunPod    `json:"runner"`
}

// testRunScript is where the operator finds the script: a key of a ConfigMap.
type testRunScript struct {
	ConfigMap struct {
		Name string `json:"name"`
		File string `json:"file"`
	} `json:"configMap"`
}

// testRunPod describes the pods of one kind. Patches merge its lists as they merge those of a
// Kubernetes pod.
type testRunPod struct {
	// Disabled is a field of the initializer only.
	Disabled                     bool                              `json:"disabled,omitempty"`
	Image                        string                            `json:"image,omitempty"`
	ImagePullPolicy              corev1.PullPolicy                 `json:"imagePullPolicy,omitempty"`
	ImagePullSecrets             []corev1.LocalObjectReference     `json:"imagePullSecrets,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
	AutomountServiceAccountToken string                            `json:"automountServiceAccountToken,omitempty"`
	ServiceAccountName           string                            `json:"serviceAccountName,omitempty"`
	Metadata                     podMetadata                       `json:"metadata,omitzero"`
	Affinity                     *corev1.Affinity                  `json:"affinity,omitempty"`
	NodeSelector                 map[string]string                 `json:"nodeSelector,omitempty"`
	PriorityClassName            string                            `json:"priorityClassName,omitempty"`
	SchedulerName                string                            `json:"schedulerName,omitempty"`
	Tolerations                  []corev1.Toleration               `json:"tolerations,omitempty"`
	TopologySpreadConstraints    []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty" patchStrategy:"merge" patchMergeKey:"topologyKey"`
	Env                          []corev1.EnvVar                   `json:"env,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
	EnvFrom                      []corev1.EnvFromSource            `json:"envFrom,omitempty"`
	ReadinessProbe               *corev1.Probe                     `json:"readinessProbe,omitempty"`
	LivenessProbe                *corev1.Probe                     `json:"livenessProbe,omitempty"`
	InitContainers               []initContainer                   `json:"initContainers,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
	Resources                    corev1.ResourceRequirements       `json:"resources,omitzero"`
	SecurityContext              *corev1.PodSecurityContext        `json:"securityContext,omitempty"`
	ContainerSecurityContext     *corev1.SecurityContext           `json:"containerSecurityContext,omitempty"`
	Volumes                      []corev1.Volume                   `json:"volumes,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
	VolumeMounts                 []corev1.VolumeMount              `json:"volumeMounts,omitempty" patchStrategy:"merge" patchMergeKey:"mountPath"`
}

// initContainer is what the operator lets be said of one.
type initContainer struct {
	Name          string                         `json:"name,omitempty"`
	Image         string                         `json:"image,omitempty"`
	Env           []corev1.EnvVar                `json:"env,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
	EnvFrom       []corev1.EnvFromSource         `json:"envFrom,omitempty"`
	Command       []string                       `json:"command,omitempty"`
	Args          []string                       `json:"args,omitempty"`
	WorkingDir    string                         `json:"workingDir,omitempty"`
	VolumeMounts  []corev1.VolumeMount           `json:"volumeMounts,omitempty" patchStrategy:"merge" patchMergeKey:"mountPath"`
	Resources     corev1.ResourceRequirements    `json:"resources,omitzero"`
	RestartPolicy *corev1.ContainerRestartPolicy `json:"restartPolicy,omitempty"`
}

// podMetadata are labels and annotations of pods.
type podMetadata struct {
	Annotations map[string]string `json:"annotations,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
}

// DeepCopyObject makes testRun a runtime.Object.
func (t *testRun) DeepCopyObject() runtime.Object {
	c := *t
	t.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	return &c
}

const (
	scriptFile = "script.js"
	scriptText = "// Workers get the script from the coordinator, whose address is in " + wire.EnvJoin + ".\n"
)

// newTestRun asks the k6-operator for runners. Each runs `k6 run`, which the image's program
// answers by joining the coordinator (wire.EnvJoin). The initializer is not needed, as the
// coordinator has initialised the script already. The initializer would also need a shell,
// which the image lacks.
func (s Settings) newTestRun(l fleet.Launch) *testRun {
	scratch, mount := cluster.ScratchVolume()
	t := &testRun{
		TypeMeta:   metav1.TypeMeta{APIVersion: "k6.io/v1alpha1", Kind: "TestRun"},
		ObjectMeta: s.meta(s.workersName()),
		Spec: testRunSpec{
			Parallelism: int32(l.Workers), Cleanup: "post",
			Initializer: testRunPod{Disabled: true},
			Starter: testRunPod{
				AutomountServiceAccountToken: strconv.FormatBool(false), Metadata: podMetadata{Labels: cluster.Labels(s.Name, cluster.Starter)},
				SecurityContext: cluster.PodSecurity(), ContainerSecurityContext: cluster.ContainerSecurity(),
			},
			Runner: testRunPod{
				Image: s.Image, AutomountServiceAccountToken: strconv.FormatBool(false), Metadata: podMetadata{Labels: runnerLabels(s.Name, l.Run), Annotations: cluster.Annotations()},
				TopologySpreadConstraints: s.spread(), Env: append(s.env(), corev1.EnvVar{Name: wire.EnvJoin, Value: l.Address}),
				Resources: s.Worker.Requirements(), SecurityContext: cluster.PodSecurity(), ContainerSecurityContext: cluster.ContainerSecurity(),
				Volumes: []corev1.Volume{scratch}, VolumeMounts: []corev1.VolumeMount{mount},
			},
		},
	}
	t.Spec.Script.ConfigMap.Name, t.Spec.Script.ConfigMap.File = s.workersName(), scriptFile
	return t
}

// runnerLabels are those of a run's runners, which belong to Jobs of the operator.
func runnerLabels(name, run string) map[string]string {
	all := cluster.Labels(name, cluster.Worker)
	key, value := cluster.RunLabel(run)
	all[key] = value
	return all
}

// script is the file that the operator wants, and that nobody runs.
func (s Settings) script() *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: s.meta(s.workersName()),
		Data:       map[string]string{scriptFile: scriptText},
	}
}
