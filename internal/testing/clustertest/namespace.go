package clustertest

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"assay.dev/assay/internal/servers/process"
)

// Namespace makes a namespace, in which pods can be made at once.
func (c *Cluster) Namespace(t testing.TB, name string) {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := c.client.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := process.Await(t.Context(), startTimeout, nil, c.serviceAccount(name)); err != nil {
		t.Fatalf("make namespace %s: %v", name, err)
	}
}
