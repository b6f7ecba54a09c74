package kubernetes

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes/scheme"
	"pgregory.net/rapid"
	strict "sigs.k8s.io/json"

	"assay.dev/assay/internal/cluster"
	"assay.dev/assay/internal/load/fleet"
	"assay.dev/assay/internal/wire"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const token = "the-token-of-the-run"

// example are the settings and the launch of the golden files.
func example(operator bool) (Settings, fleet.Launch) {
	s := Settings{
		Name: "assay-checkout", Namespace: "load", Image: "registry.example.com/assay:1.0", Operator: operator,
		Worker: cluster.Resources{CPU: resource.MustParse("500m"), Memory: resource.MustParse("1Gi")},
	}
	return s, fleet.Launch{
		Run: "20261120T231500Z-checkout-1f3a", Workers: 20, Address: "https://10.1.2.3:7077#sha256:" + strings.Repeat("0123456789abcdef", 4), Token: token,
		Target: "http://shop.prod.svc:8080", Hosts: []string{"shop.prod.svc", "pay.example.com"}, Longest: 17*time.Minute + time.Millisecond,
	}
}

// The manifests of both engines, as --dry-run prints them.
func TestManifestsGolden(t *testing.T) {
	t.Parallel()
	for name, operator := range map[string]bool{"kubernetes.yaml": false, "k6-operator.yaml": true} {
		s, l := example(operator)
		all, err := s.Manifests(l)
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		if err := cluster.Print(&got, all); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got.String()); diff != "" {
			t.Errorf("%s (-want +got; run with -update to accept):\n%s", name, diff)
		}
	}
}

// worker is what a manifest says of the workers' pods: the same for both engines.
type worker struct {
	labels     map[string]string
	pod        corev1.PodSecurityContext
	noToken    bool // pods get no token of a service account
	volumes    []corev1.Volume
	containers []corev1.Container
}

func workerOf(o runtime.Object) worker {
	switch o := o.(type) {
	case *batchv1.Job:
		p := o.Spec.Template.Spec
		mounts := p.AutomountServiceAccountToken
		return worker{o.Spec.Template.Labels, *p.SecurityContext, mounts != nil && !*mounts, p.Volumes, slices.Concat(p.InitContainers, p.Containers)}
	case *testRun:
		r := o.Spec.Runner
		return worker{r.Metadata.Labels, *r.SecurityContext, r.AutomountServiceAccountToken == "false", r.Volumes, []corev1.Container{{
			Image: r.Image, Env: r.Env, EnvFrom: r.EnvFrom, Resources: r.Resources, SecurityContext: r.ContainerSecurityContext, VolumeMounts: r.VolumeMounts,
		}}}
	}
	return worker{}
}

// drawSettings draws any settings that the command accepts.
func drawSettings(t *rapid.T) (Settings, fleet.Launch) {
	quantity := func(unit string, most int) resource.Quantity {
		return resource.MustParse(fmt.Sprint(rapid.IntRange(1, most).Draw(t, "quantity"), unit))
	}
	host := rapid.StringMatching(`([a-z][a-z0-9-]{0,10}[a-z0-9]\.){0,4}[a-z][a-z0-9]{0,10}|10\.\d\.\d\.\d`)
	s := Settings{
		Name: rapid.StringMatching(`[a-z]([-a-z0-9]{0,38}[a-z0-9])?`).Draw(t, "name"), Namespace: "load", Image: "assay:1", Operator: rapid.Bool().Draw(t, "operator"),
		Worker: cluster.Resources{CPU: quantity("m", 10_000), Memory: quantity("Mi", 10_000)},
	}
	l := fleet.Launch{
		Workers: rapid.IntRange(1, 1000).Draw(t, "workers"), Address: "https://" + host.Draw(t, "coordinator") + ":7077", Token: token,
		Target: rapid.SampledFrom([]string{"http://", "https://"}).Draw(t, "scheme") + host.Draw(t, "target"),
		Hosts:  rapid.SliceOfN(host, 0, 3).Draw(t, "hosts"), Longest: time.Duration(rapid.Int64Range(1, int64(24*time.Hour)).Draw(t, "longest")),
	}
	return s, l
}

// Whatever the settings: workers meet the Pod Security Standard "restricted", have no
// account in the cluster, and the token is in the Secret alone.
func TestManifestsAreRestricted(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, l := drawSettings(t)
		all, err := s.Manifests(l)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range all {
			text, err := json.Marshal(o)
			if err != nil {
				t.Fatal(err)
			}
			if secret, isSecret := o.(*corev1.Secret); isSecret {
				if secret.StringData[tokenKey] != token {
					t.Error("the Secret does not hold the token")
				}
			} else if bytes.Contains(text, []byte(token)) {
				t.Errorf("the token is in %s", text)
			}
			decode(t, o, text)
			if name := cluster.NameOf(o); name != s.Name+"-workers" || len(validation.IsDNS1123Label(name)) > 0 {
				t.Errorf("name %q", name)
			}
		}
		w := workerOf(all[0])
		if !w.noToken {
			t.Error("workers have the token of a service account")
		}
		if p := w.pod; p.RunAsNonRoot == nil || !*p.RunAsNonRoot || *p.RunAsUser == 0 || *p.RunAsGroup == 0 || p.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault || len(p.Sysctls) > 0 {
			t.Errorf("pod: %+v", p)
		}
		for _, v := range w.volumes {
			if v.EmptyDir == nil {
				t.Errorf("volume %+v", v)
			}
		}
		labels := cluster.Labels(s.Name, cluster.Worker)
		if s.Operator {
			labels = runnerLabels(s.Name, l.Run)
		}
		if diff := cmp.Diff(labels, w.labels); diff != "" {
			t.Errorf("labels (-want +got):\n%s", diff)
		}
		for _, c := range w.containers {
			checkContainer(t, s, c)
		}
	})
}

func checkContainer(t *rapid.T, s Settings, c corev1.Container) {
	x := c.SecurityContext
	if *x.AllowPrivilegeEscalation || !*x.ReadOnlyRootFilesystem || x.Privileged != nil || !slices.Equal(x.Capabilities.Drop, []corev1.Capability{"ALL"}) || len(x.Capabilities.Add) > 0 || x.RunAsUser != nil || x.SeccompProfile != nil {
		t.Errorf("container: %+v", x)
	}
	if len(c.Ports) > 0 || len(c.EnvFrom) > 0 {
		t.Errorf("ports %v, environment from %v", c.Ports, c.EnvFrom)
	}
	found := false
	for _, e := range c.Env {
		ref := e.ValueFrom
		if e.Name == wire.EnvJoinToken {
			found = e.Value == "" && ref != nil && ref.SecretKeyRef != nil && ref.SecretKeyRef.Name == s.Name+"-workers" && ref.SecretKeyRef.Key == tokenKey
		} else if ref != nil && ref.SecretKeyRef != nil {
			t.Errorf("%s is of a Secret", e.Name)
		}
	}
	if !found {
		t.Errorf("the token is not taken from the Secret: %+v", c.Env)
	}
	_, limited := c.Resources.Limits[corev1.ResourceCPU]
	if memory := c.Resources.Limits[corev1.ResourceMemory]; limited || memory.Cmp(s.Worker.Memory) != 0 {
		t.Errorf("limits %v", c.Resources.Limits)
	}
}

// decode decodes an object as an API server does that refuses unknown fields.
func decode(t *rapid.T, o runtime.Object, text []byte) {
	kind := o.GetObjectKind().GroupVersionKind()
	into, err := scheme.Scheme.New(kind)
	if err != nil { // an object of the k6-operator
		into = &testRun{}
	}
	unknown, err := strict.UnmarshalStrict(text, into)
	if err != nil || len(unknown) > 0 {
		t.Errorf("%s: %v %v", kind, err, unknown)
	}
	if diff := cmp.Diff(o, into); diff != "" {
		t.Errorf("%s changes when it is read (-sent +read):\n%s", kind, diff)
	}
}

// What the k6-operator knows of its pods can be patched.
func TestPatchOfTestRunFields(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "patch.yaml")
	text := "{kind: TestRun, spec: {runner: {readinessProbe: {exec: {command: [x]}}, livenessProbe: {exec: {command: [x]}}, initContainers: [{name: ready, image: busybox, command: [sh], restartPolicy: Always}]}, starter: {metadata: {labels: {team: pay}}}}}"
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	s, l := example(true)
	var err error
	if s.Patch, err = cluster.ReadPatch(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	all, err := s.Manifests(l)
	if err != nil {
		t.Fatal(err)
	}
	got := all[0].(*testRun).Spec
	if r := got.Runner; r.ReadinessProbe == nil || r.LivenessProbe == nil || len(r.InitContainers) != 1 || r.InitContainers[0].RestartPolicy == nil {
		t.Errorf("%+v", r)
	}
	want := cluster.Labels(s.Name, cluster.Starter)
	want["team"] = "pay"
	if diff := cmp.Diff(want, got.Starter.Metadata.Labels); diff != "" {
		t.Errorf("labels of the starter (-want +got):\n%s", diff)
	}
}

// Patches of a TestRun keep what they do not name.
func TestPatchOfTestRun(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "patch.yaml")
	text := "{kind: TestRun, spec: {runner: {env: [{name: X, value: '1'}], volumes: [{name: ca, configMap: {name: ca}}], volumeMounts: [{name: ca, mountPath: /ca}], imagePullSecrets: [{name: registry}], metadata: {labels: {team: pay}}}}}"
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	s, l := example(true)
	plain, err := s.Manifests(l)
	if err != nil {
		t.Fatal(err)
	}
	if s.Patch, err = cluster.ReadPatch(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	all, err := s.Manifests(l)
	if err != nil {
		t.Fatal(err)
	}
	was, got := plain[0].(*testRun).Spec.Runner, all[0].(*testRun).Spec.Runner
	for _, e := range was.Env {
		if !slices.ContainsFunc(got.Env, func(g corev1.EnvVar) bool { return cmp.Equal(e, g) }) {
			t.Errorf("%s is gone", e.Name)
		}
	}
	if len(got.Env) != len(was.Env)+1 || len(got.Volumes) != 2 || len(got.VolumeMounts) != 2 || len(got.ImagePullSecrets) != 1 || got.Metadata.Labels["team"] != "pay" || len(got.Metadata.Labels) != len(was.Metadata.Labels)+1 {
		t.Errorf("%+v", got)
	}
}
