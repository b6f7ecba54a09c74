package cluster_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"assay.dev/assay/internal/cluster"
	"assay.dev/assay/internal/hint"
)

// manifests are two Jobs and two other objects.
func manifests() []runtime.Object {
	job := func(name string) *batchv1.Job {
		return &batchv1.Job{
			TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"}, ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"a": "b"}},
			Spec: batchv1.JobSpec{Parallelism: new(int32(2)), Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}},
				Spec: corev1.PodSpec{
					SecurityContext: cluster.PodSecurity(),
					Containers: []corev1.Container{{
						Name: cluster.Container, Image: "assay:1", Args: []string{"worker"}, SecurityContext: cluster.ContainerSecurity(),
						Env: []corev1.EnvVar{cluster.FromSecret("ASSAY_JOIN_TOKEN", name, "token")},
					}},
				},
			}},
		}
	}
	return []runtime.Object{
		job("run"), job("run-workers"),
		&corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: metav1.ObjectMeta{Name: "run"}},
		&networkingv1.NetworkPolicy{TypeMeta: metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"}, ObjectMeta: metav1.ObjectMeta{Name: "run"}},
	}
}

func pods(all []runtime.Object) (specs []corev1.PodSpec) {
	for _, o := range all {
		if j, isJob := o.(*batchv1.Job); isJob {
			specs = append(specs, j.Spec.Template.Spec)
		}
	}
	return specs
}

func readPatch(t *testing.T, text string) (cluster.Patch, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "patch.yaml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return cluster.ReadPatch(t.Context(), path)
}

// Each patch changes the manifests as change does, and nothing else of them.
func TestPatch(t *testing.T) {
	t.Parallel()
	everyPod := func(change func(*corev1.PodSpec)) func([]runtime.Object) {
		return func(all []runtime.Object) {
			for _, o := range all[:2] {
				change(&o.(*batchv1.Job).Spec.Template.Spec)
			}
		}
	}
	for name, c := range map[string]struct {
		patch  string
		change func(all []runtime.Object)
		left   int // manifests; 0: all
	}{
		"nothing":         {"", func([]runtime.Object) {}, 0},
		"empty documents": {"---\n# a comment\n---\n\n---\n", func([]runtime.Object) {}, 0},
		"tolerations": {"{kind: Pod, spec: {tolerations: [{key: load, operator: Exists}]}}", everyPod(func(s *corev1.PodSpec) {
			s.Tolerations = []corev1.Toleration{{Key: "load", Operator: corev1.TolerationOpExists}}
		}), 0},
		"image pull secrets and a service account": {
			"apiVersion: v1\nkind: Pod\nspec:\n  imagePullSecrets: [{name: registry}]\n  serviceAccountName: loader\n",
			everyPod(func(s *corev1.PodSpec) {
				s.ImagePullSecrets, s.ServiceAccountName = []corev1.LocalObjectReference{{Name: "registry"}}, "loader"
			}), 0,
		},
		"a container by its name": {
			"{kind: Pod, spec: {containers: [{name: assay, imagePullPolicy: Always, env: [{name: X, value: '1'}]}]}}",
			everyPod(func(s *corev1.PodSpec) {
				c := &s.Containers[0]
				c.ImagePullPolicy, c.Env = corev1.PullAlways, append([]corev1.EnvVar{{Name: "X", Value: "1"}}, c.Env...)
			}), 0,
		},
		"another container": {"{kind: Pod, spec: {containers: [{name: tap, image: tap:1}]}}", everyPod(func(s *corev1.PodSpec) {
			s.Containers = append([]corev1.Container{{Name: "tap", Image: "tap:1"}}, s.Containers...)
		}), 0},
		"a field removed": {"{kind: Pod, spec: {securityContext: {runAsUser: null}}}", everyPod(func(s *corev1.PodSpec) { s.SecurityContext.RunAsUser = nil }), 0},
		"labels of the pods of one Job": {
			"{kind: Pod, metadata: {name: run-workers, labels: {team: pay}}}",
			func(all []runtime.Object) { all[1].(*batchv1.Job).Spec.Template.Labels["team"] = "pay" }, 0,
		},
		"one Job": {
			"{kind: Job, metadata: {name: run, annotations: {a: b}}, spec: {suspend: true}}",
			func(all []runtime.Object) {
				j := all[0].(*batchv1.Job)
				j.Annotations, j.Spec.Suspend = map[string]string{"a": "b"}, new(true)
			}, 0,
		},
		"several documents, in their order": {
			"{kind: Pod, spec: {priorityClassName: low}}\n---\n{kind: Job, metadata: {name: run}, spec: {template: {spec: {priorityClassName: high}}}}\n---\n{kind: NetworkPolicy, $patch: delete}\n",
			func(all []runtime.Object) {
				for i, class := range []string{"high", "low"} {
					all[i].(*batchv1.Job).Spec.Template.Spec.PriorityClassName = class
				}
			}, 3,
		},
		"JSON": {`{"kind": "Secret", "metadata": {"labels": {"a": "b"}}}`, func(all []runtime.Object) { all[2].(*corev1.Secret).Labels = map[string]string{"a": "b"} }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := readPatch(t, c.patch)
			if err != nil {
				t.Fatal(err)
			}
			original, want := manifests(), manifests()
			if err := p.Check(original); err != nil {
				t.Error(err)
			}
			got, err := p.Apply(original)
			if err != nil {
				t.Fatal(err)
			}
			c.change(want)
			if c.left > 0 {
				want = want[:c.left]
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if !reflect.DeepEqual(original, manifests()) {
				t.Error("the manifests themselves were changed")
			}
		})
	}
}

// Wrong patches are errors of one line, with the file, the document and a hint.
func TestPatchRefused(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		"kind: [Pod":                                         "document 1: yaml: line 1: ",
		"kind: Pod\nspec:\n  - a\n b: c\n":                   "document 1: yaml: line ",
		"{kind: Pod}\n---\nspec: {}\n":                       "document 2: it has no kind",
		"Pod":                                                "document 1: it has no kind",
		"[{kind: Pod}]":                                      "document 1: it has no kind",
		"kind: 5":                                            "document 1: it has no kind",
		"kind: Pod\nkind: Job\n":                             `document 1: yaml: unmarshal errors: line 2: key "kind" already set in map`,
		"{kind: Secret, $patch: delete}":                     "document 1: only a NetworkPolicy can be deleted: the run needs the others",
		"{kind: Job, $patch: replace}":                       `document 1: $patch of a whole manifest is "replace": it must be delete`,
		"{kind: Deployment}":                                 "document 1: there is no Deployment among the manifests",
		"{kind: Pod, metadata: {name: other}}":               "document 1: there is no Pod other among the manifests",
		"{kind: pod}":                                        "document 1: there is no pod among the manifests",
		"{kind: Pod, spec: {toleration: []}}":                `document 1: unknown field "spec.toleration"`,
		"{kind: Pod, spec: {a: 1, b: 2}}":                    `document 1: unknown field "spec.a"; unknown field "spec.b"`,
		"{kind: Pod, spec: {nodeselector: {}}}":              `document 1: unknown field "spec.nodeselector"`,
		"# one\n---\n{kind: Job, spec: {parallelism: many}}": `document 2: field "spec.parallelism" cannot be of type string`,
		"{kind: Pod, spec: {containers: assay}}":             `document 1: field "spec.containers" cannot be of type string`,
		"{kind: Pod, spec: {containers: [{image: x}]}}":      "document 1: ",
		"{kind: Pod, spec: {containers: [{name: k6}]}}":      "document 1: container k6 has no image; the container of the pods is called assay",
		"{kind: Pod, spec: {securityContext: 1}}":            `document 1: field "spec.securityContext" cannot be of type number`,
		"{kind: Pod, spec: []}":                              `document 1: field "spec" cannot be of type array`,
		"{kind: Pod, metadata: 1}":                           "document 1: ",
	} {
		p, err := readPatch(t, text)
		if err == nil {
			if err = p.Check(manifests()); err == nil {
				_, err = p.Apply(manifests())
			}
		}
		if err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "patch.yaml, document") || strings.Contains(err.Error(), "\n") || hint.Of(err) == "" {
			t.Errorf("%s\n%v (hint: %s), want %s", text, err, hint.Of(err), says)
		}
	}
	if _, err := cluster.ReadPatch(t.Context(), filepath.Join(t.TempDir(), "none")); err == nil || !strings.Contains(hint.Of(err), "--kubernetes-patch") {
		t.Errorf("a file that is not there: %v (%s)", err, hint.Of(err))
	}
}

// A patch may name what is not there only where that is checked: the coordinator's pod
// applies it to the workers' manifests alone.
func TestPatchOfOthers(t *testing.T) {
	t.Parallel()
	p, err := readPatch(t, "{kind: Pod, metadata: {name: run}, spec: {hostname: x}}")
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.Apply(manifests()[1:])
	if err != nil || pods(got)[0].Hostname != "" {
		t.Errorf("%+v, %v", pods(got), err)
	}
}
