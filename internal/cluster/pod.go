package cluster

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
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
