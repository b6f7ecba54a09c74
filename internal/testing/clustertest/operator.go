package clustertest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"assay.dev/assay/internal/servers/process"
)

// The images that the k6-operator's manifest and code name: the operator itself, and the
// one that starts and stops k6 by curl.
const (
	operatorImage = "ghcr.io/grafana/k6-operator:controller-v1.5.0"
	starterImage  = "ghcr.io/grafana/k6-operator:latest-starter"
)

const (
	operatorNamespace  = "k6-operator-system"
	operatorDeployment = "k6-operator-controller-manager"
)

// InstallK6Operator installs the k6-operator by its own manifest, and returns when it is
// ready. Its default image of k6 is not there: a TestRun names another.
func (c *Cluster) InstallK6Operator(t testing.TB) {
	t.Helper()
	if err := c.installOperator(t.Context()); err != nil {
		t.Fatalf("install k6-operator: %v", err)
	}
}

func (c *Cluster) installOperator(ctx context.Context) error {
	const user = "65532:65532" // as in the original images
	if err := errors.Join(
		c.importImage(ctx, Image{Name: starterImage, Files: c.busybox, User: user, Env: []string{searchPath}}),
		c.importImage(ctx, Image{
			Name: operatorImage, Files: map[string]File{"/manager": {From: c.own("k6-operator")}}, User: user, Entrypoint: []string{"/manager"},
		}),
	); err != nil {
		return err
	}
	manifest, err := os.ReadFile(filepath.Join(c.programs, "k6-operator.yaml"))
	if err != nil {
		return err
	}
	if err := c.apply(ctx, manifest); err != nil {
		return err
	}
	return process.Await(ctx, startTimeout, nil, func(ctx context.Context) error {
		d, err := c.client.AppsV1().Deployments(operatorNamespace).Get(ctx, operatorDeployment, metav1.GetOptions{})
		if err == nil && d.Status.ReadyReplicas == 0 {
			return errors.New("it is not ready")
		}
		return err
	})
}
