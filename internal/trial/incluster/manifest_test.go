package incluster

import (
	"bytes"
	"encoding/json"
	"flag"
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
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes/scheme"
	strict "sigs.k8s.io/json"

	"assay.dev/assay/internal/cluster"
)

var update = flag.Bool("update", false, "rewrite the golden file")

func example() Job {
	return Job{
		Name: "assay-checkout", Namespace: "load", Image: "registry.example.com/assay:1.0",
		Resources:   cluster.Resources{CPU: resource.MustParse("500m"), Memory: resource.MustParse("1Gi")},
		Command:     []string{"--folder", ".", "--", "certify", "checkout", "--thresholds", "thresholds.json"},
		Secrets:     map[string]string{"ASSAY_INFLUX_URL": "http://influx:8086", "ASSAY_INFLUX_TOKEN": "hunter2"},
		FromSecrets: map[string]Key{"ASSAY_DB": {Secret: "shop-database", Key: "dsn"}},
		Project:     []byte("an archive"), PatchText: []byte("kind: Pod\n"), Longest: 17 * time.Minute,
	}
}

// The manifests of the coordinator, as --dry-run prints them.
func TestManifestsGolden(t *testing.T) {
	t.Parallel()
	all, err := example().Manifests()
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := cluster.Print(&got, all); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", "coordinator.yaml")
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
		t.Errorf("(-want +got; run with -update to accept):\n%s", diff)
	}
}

// The API server knows every field, and secrets are in the Secret alone: what scripts and
// patches hold, too.
func TestManifests(t *testing.T) {
	t.Parallel()
	for _, secrets := range []map[string]string{nil, {"ASSAY_DB": "shop:hunter2@tcp(db)/shop"}} {
		j := example()
		j.Secrets, j.FromSecrets = secrets, nil
		j.Project, j.PatchText = []byte("private key"), nil
		if secrets != nil {
			j.PatchText = []byte("credentials")
		}
		all, err := j.Manifests()
		if err != nil {
			t.Fatal(err)
		}
		if len(all) != 2 {
			t.Fatalf("%d objects, want 2", len(all))
		}
		for _, o := range all {
			text, err := json.Marshal(o)
			if err != nil {
				t.Fatal(err)
			}
			into, err := scheme.Scheme.New(o.GetObjectKind().GroupVersionKind())
			if err != nil {
				t.Fatal(err)
			}
			if unknown, err := strict.UnmarshalStrict(text, into); err != nil || len(unknown) > 0 {
				t.Errorf("%T: %v %v", o, err, unknown)
			}
			if diff := cmp.Diff(o, into); diff != "" {
				t.Errorf("%T changes when it is read (-sent +read):\n%s", o, diff)
			}
			if _, isSecret := o.(*corev1.Secret); !isSecret && (bytes.Contains(text, []byte("hunter2")) || o.GetObjectKind().GroupVersionKind().Kind == "ConfigMap") {
				t.Errorf("a secret is in %s", text)
			}
		}
		p := all[0].(*batchv1.Job).Spec.Template.Spec
		var files []string // files that the pod sees
		for _, v := range p.Volumes {
			if v.Secret != nil {
				for _, item := range v.Secret.Items {
					files = append(files, item.Path)
				}
			}
		}
		if want := []string{projectFile, patchFile}; !slices.Equal(files, want[:1+len(secrets)]) {
			t.Errorf("files %q", files)
		}
		if diff := cmp.Diff(cluster.PodSecurity(), p.SecurityContext) + cmp.Diff(cluster.ContainerSecurity(), p.Containers[0].SecurityContext); diff != "" {
			t.Error(diff)
		}
		if found := strings.Contains(mustMarshal(t, p.Containers[0].Env), `"name":"ASSAY_DB","valueFrom":{"secretKeyRef":{"name":"assay-checkout","key":"ASSAY_DB"}}`); found != (secrets != nil) {
			t.Errorf("environment %+v", p.Containers[0].Env)
		}
	}
}

func mustMarshal(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestName(t *testing.T) {
	t.Parallel()
	for profile, want := range map[string]string{
		"checkout": "assay-checkout", "Pay_ment.V2": "assay-pay-ment-v2", "支付": "assay", "-": "assay", "a--b": "assay-a-b",
		strings.Repeat("long-", 20): "assay-long-long-long-long-long-long-long",
	} {
		if got := Name(profile); got != want || len(validation.IsDNS1123Label(got)) > 0 {
			t.Errorf("%q: %q, want %q", profile, got, want)
		}
	}
}

func TestListen(t *testing.T) {
	for ip, want := range map[string]string{"10.1.2.3": "10.1.2.3:7077", "fd00::1": "[fd00::1]:7077"} {
		t.Setenv(envPodIP, ip)
		if got := Listen(); got != want {
			t.Errorf("%s: %s, want %s", ip, got, want)
		}
	}
}
