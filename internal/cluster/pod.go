package cluster

import (
	"crypto/sha256"
	"encoding/hex"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Container is the name of the container of each pod of ours, which patches refer to.
const Container = "assay"

// User is the unprivileged user of the image, see the Dockerfile.
const User = 65532

// Scratch is the folder of temporary files: the rest of the container's files cannot be
// written to.
const Scratch = "/tmp"

// Resources are what a pod asks for. Its memory is limited to that. Its CPU is not: a
// limit would throttle bursts, which adds to the latencies that are measured.
type Resources struct {
	CPU, Memory resource.Quantity
}

// Requirements is r in the API's form.
func (r Resources) Requirements() corev1.ResourceRequirements {
	return corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: r.CPU, corev1.ResourceMemory: r.Memory},
		Limits:   corev1.ResourceList{corev1.ResourceMemory: r.Memory},
	}
}

// PodSecurity and ContainerSecurity meet the Pod Security Standard "restricted".
func PodSecurity() *corev1.PodSecurityContext {
	return &corev1.PodSecurityContext{
		RunAsNonRoot: new(true), RunAsUser: new(int64(User)), RunAsGroup: new(int64(User)), FSGroup: new(int64(User)),
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
}

// ContainerSecurity: see PodSecurity.
func ContainerSecurity() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true),
		Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}

// ScratchVolume is the volume of Scratch, and its mount.
func ScratchVolume() (corev1.Volume, corev1.VolumeMount) {
	const name = "scratch"
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		corev1.VolumeMount{Name: name, MountPath: Scratch}
}

// Field is an environment variable with a field of the pod.
func Field(name, path string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}
}

// FromSecret is an environment variable with a value of a Secret.
func FromSecret(name, secret, key string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: secret}, Key: key,
	}}}
}

// Components of a run.
const (
	Worker      = "worker"
	Coordinator = "coordinator"
	Starter     = "starter" // pod of the k6-operator that starts the workers
)

// Labels of https://kubernetes.io/docs/concepts/overview/working-with-objects/common-labels/.
const (
	labelName      = "app.kubernetes.io/name"
	labelInstance  = "app.kubernetes.io/instance"
	labelComponent = "app.kubernetes.io/component"
	labelManager   = "app.kubernetes.io/managed-by"
)

// Labels are those of a run's objects. name is the run's name in the namespace.
func Labels(name, component string) map[string]string {
	all := Selector(name, component)
	all[labelName] = "assay"
	return all
}

// Selector are the labels that select the pods of a component of a run. Other tools, such
// as Helm, use the same labels: only the manager's tells our pods from those of a release of
// that name.
func Selector(name, component string) map[string]string {
	return map[string]string{labelInstance: name, labelComponent: component, labelManager: "assay"}
}

// RunLabel tells the pods of a run from those of earlier runs of the same name, which may
// still be ending. It is made of the run's id, which may be no value of a label.
func RunLabel(id string) (key, value string) {
	sum := sha256.Sum256([]byte(id))
	return "assay/run", hex.EncodeToString(sum[:8])
}

// PodsOf select the pods of a component of a run, whose Job or TestRun is owner. Those of a
// Job are found by its UID: pods of a deleted Job of the same name may still be ending. For
// those of a TestRun see RunLabel.
func PodsOf(owner metav1.OwnerReference, name, component string) metav1.ListOptions {
	if owner.Kind == "Job" {
		return metav1.ListOptions{LabelSelector: labels.Set{batchv1.ControllerUidLabel: string(owner.UID)}.String()}
	}
	return ListOptions(name, component)
}

// ListOptions select the objects of a component of all runs of a name.
func ListOptions(name, component string) metav1.ListOptions {
	return metav1.ListOptions{LabelSelector: labels.SelectorFromSet(Selector(name, component)).String()}
}

// Annotations ask autoscalers not to remove the nodes of a run's pods: a worker that moves
// costs the run.
func Annotations() map[string]string {
	return map[string]string{
		"cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
		"karpenter.sh/do-not-disrupt":                    "true",
	}
}
