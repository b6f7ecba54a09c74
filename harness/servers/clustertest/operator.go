package clustertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"assay/harness/servers/process"
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
	curl, err := withLibraries(ctx, "curl")
	if err != nil {
		return err
	}
	for name, file := range c.busybox() {
		curl[name] = file
	}
	curl["/tmp"] = File{Mode: os.ModeDir | os.ModeSticky | 0o777}
	const user, path = "65532:65532", "PATH=/usr/bin:/bin" // as in the original images
	if err := errors.Join(
		c.importImage(ctx, Image{Name: starterImage, Files: curl, User: user, Env: []string{path}}),
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

// withLibraries is a program of this machine with the shared libraries that it needs.
func withLibraries(ctx context.Context, name string) (map[string]File, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return nil, err
	}
	out, err := exec.CommandContext(ctx, "ldd", path).Output()
	if err != nil {
		return nil, fmt.Errorf("list libraries of %s: %w", path, err)
	}
	found := map[string]File{"/usr/bin/" + name: {From: path}}
	for _, word := range strings.Fields(string(out)) { // NAME => PATH (ADDRESS)
		if filepath.IsAbs(word) {
			found[word] = File{From: word}
		}
	}
	return found, nil
}
