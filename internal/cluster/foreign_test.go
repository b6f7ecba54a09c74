package cluster_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"

	"assay.dev/assay/internal/cluster"
)

// FuzzPod: what a cluster says of a pod is one line.
func FuzzPod(f *testing.F) {
	f.Add(`{"metadata":{"name":"a"},"status":{"phase":"Failed","reason":"Evicted","message":"low\non memory","containerStatuses":[{"name":"assay","restartCount":2,"state":{"terminated":{"exitCode":137,"reason":"OOMKilled"}}}]}}`)
	f.Add(`{"status":{"conditions":[{"type":"PodScheduled","status":"False","message":"0/3 nodes"},{"type":"DisruptionTarget","status":"True","reason":"EvictionByEvictionAPI"}],"initContainerStatuses":[{"state":{"terminated":{"exitCode":1}}}]}}`)
	f.Add(`{"status":{"containerStatuses":[{"name":"assay","state":{"waiting":{"reason":"ImagePullBackOff","message":"x"}},"lastState":{"terminated":{"message":"assay: a\nhint: b"}}}]}}`)
	f.Fuzz(func(t *testing.T, text string) {
		var p corev1.Pod
		if json.Unmarshal([]byte(text), &p) != nil {
			return
		}
		s := cluster.StateOf(&p)
		cluster.HasEnded(&p)
		for _, said := range []string{s.Message, s.Log} {
			if len(said) > 400 || strings.Contains(said, "\n") || !utf8.ValidString(said) {
				t.Errorf("it says %q", said)
			}
		}
		_, _ = s.String(), cluster.Obstacle(&p)
	})
}

// FuzzPatch: a file of patches is read, or refused by an error of one line.
func FuzzPatch(f *testing.F) {
	f.Add([]byte("kind: Pod\nspec: {tolerations: [{key: load}]}\n---\nkind: NetworkPolicy\n$patch: delete\n"))
	f.Add([]byte("a: &a [*a]\n"))
	f.Add([]byte("---\n---\n{kind: \xff}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), "patch.yaml")
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := cluster.ReadPatch(t.Context(), path); err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("several lines: %v", err)
		}
	})
}
