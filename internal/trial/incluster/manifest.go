package incluster

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"assay.dev/assay/internal/cluster"
	"assay.dev/assay/internal/wire"
)

// Environment variables of the coordinator's pod.
const (
	EnvPodUID = "ASSAY_POD_UID"
	envPodIP  = "ASSAY_POD_IP"
)

// Job describes the coordinator's Job.
type Job struct {
	Name        string // name of the run in the namespace
	Namespace   string
	Image       string
	Resources   cluster.Resources
	Command     []string          // flags of `assay kubernetes coordinate`, and its command
	Secrets     map[string]string // environment variables
	FromSecrets map[string]Key    // environment variables, from Secrets that exist
	Project     []byte            // archive of the project's files
	// PatchText is what the coordinator applies to the workers' manifests; nil: none.
	PatchText    []byte
	StartTimeout time.Duration // for its pod
	Longest      time.Duration // longest time that the run can take
	Patch        cluster.Patch
}

// Key is a key of a Secret.
type Key struct{ Secret, Key string }

const (
	projectFile   = "project.tar.gz"
	projectFolder = "/project"
	patchFile     = "patch.yaml"
	// workPort is where workers join.
	workPort = "7077"
)

// PatchPath is where the coordinator's pod has Job.PatchText.
const PatchPath = projectFolder + "/" + patchFile

// RunFolder is that of the run, in the coordinator's pod.
const RunFolder = cluster.Scratch + "/run"

// holdFor is how long the coordinator's pod keeps a record that nobody collects.
const holdFor = time.Hour

// endTimeout is how long the coordinator may take to end a run and to seal its record,
// and for the record to be collected.
const endTimeout = 3 * time.Minute

// Manifests are the objects of the coordinator. The first one owns the others.
func (j Job) Manifests() ([]runtime.Object, error) {
	return j.Patch.Apply([]runtime.Object{j.job(), j.secret()})
}

func (j Job) meta() metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: j.Name, Namespace: j.Namespace, Labels: cluster.Labels(j.Name, cluster.Coordinator)}
}

// secret holds what the coordinator is told and others may not read: scripts may open
// private keys, and patches may have credentials.
func (j Job) secret() *corev1.Secret {
	s := &corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: j.meta(),
		Immutable: new(true), Data: map[string][]byte{projectFile: j.Project}, StringData: j.Secrets,
	}
	if j.PatchText != nil {
		s.Data[patchFile] = j.PatchText
	}
	return s
}

// projectVolume has the files of the Secret, and none of the variables.
func (j Job) projectVolume(name string) corev1.Volume {
	files := []corev1.KeyToPath{{Key: projectFile, Path: projectFile}}
	if j.PatchText != nil {
		files = append(files, corev1.KeyToPath{Key: patchFile, Path: patchFile})
	}
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: j.Name, Items: files}}}
}

// job runs the command once.
func (j Job) job() *batchv1.Job {
	scratch, scratchMount := cluster.ScratchVolume()
	const project = "project"
	return &batchv1.Job{
		TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"}, ObjectMeta: j.meta(),
		Spec: batchv1.JobSpec{
			BackoffLimit: new(int32(0)), ActiveDeadlineSeconds: new(int64((j.Longest + holdFor).Seconds())), TTLSecondsAfterFinished: new(int32(holdFor.Seconds())),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: cluster.Labels(j.Name, cluster.Coordinator), Annotations: cluster.Annotations()},
				Spec: corev1.PodSpec{
					RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: new(int64(endTimeout.Seconds())),
					ServiceAccountName: cluster.CoordinatorAccount, EnableServiceLinks: new(false), SecurityContext: cluster.PodSecurity(),
					Volumes: []corev1.Volume{scratch, j.projectVolume(project)},
					Containers: []corev1.Container{{
						Name: cluster.Container, Image: j.Image, Args: slices.Concat([]string{"kubernetes", "coordinate"}, j.Command),
						Env: j.env(), Resources: j.Resources.Requirements(), SecurityContext: cluster.ContainerSecurity(),
						VolumeMounts:             []corev1.VolumeMount{scratchMount, {Name: project, MountPath: projectFolder, ReadOnly: true}},
						TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
					}},
				},
			},
		},
	}
}

func (j Job) env() []corev1.EnvVar {
	env := []corev1.EnvVar{
		cluster.Field(wire.EnvPodName, "metadata.name"), cluster.Field(EnvPodUID, "metadata.uid"),
		cluster.Field(envPodIP, "status.podIP"), cluster.Field(wire.EnvNode, "spec.nodeName"),
		{Name: wire.EnvImage, Value: j.Image},
		{Name: "HOME", Value: cluster.Scratch},
	}
	for _, name := range slices.Sorted(maps.Keys(j.Secrets)) {
		env = append(env, cluster.FromSecret(name, j.Name, name))
	}
	for _, name := range slices.Sorted(maps.Keys(j.FromSecrets)) {
		env = append(env, cluster.FromSecret(name, j.FromSecrets[name].Secret, j.FromSecrets[name].Key))
	}
	return env
}

// unusual are the characters that a profile's name may have and a Kubernetes name may not.
var unusual = regexp.MustCompile(`[^a-z0-9]+`)

// Name is the name of a profile's run in a namespace.
func Name(profile string) string {
	name := "assay-" + unusual.ReplaceAllString(strings.ToLower(profile), "-")
	return strings.Trim(name[:min(len(name), 40)], "-")
}
