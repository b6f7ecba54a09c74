package clustertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/procfs"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"assay.dev/assay/internal/cluster/client"
	"assay.dev/assay/internal/hint"
)

// Cluster is a running cluster of one node.
type Cluster struct {
	programs  string // Env
	dir       string // of everything but etcd's data
	data      string // etcd's
	group     string // control group of the pods
	authority *authority
	tokens    pair
	busybox   map[string]File // of the image Busybox
	admin     string          // kubeconfig
	config    *rest.Config
	client    client.Interface
	apiServer *program
	names     *names
	running   []*program // in the order of their start
}

// Start starts a cluster, of which there can be one at a time. It returns when the node
// is ready, and pods can be made in the namespace default. The cluster ends with the test.
func Start(t testing.TB) *Cluster {
	t.Helper()
	programs := os.Getenv(Env)
	if programs == "" {
		t.Fatalf("no Kubernetes to test with: %s is not set (run: make test-kubernetes)", Env)
	}
	dir, err := os.MkdirTemp("", "c") // short: it holds sockets
	if err != nil {
		t.Fatal(err)
	}
	c := &Cluster{programs: programs, dir: dir, group: strings.ReplaceAll(dir[1:], "/", "-")}
	t.Cleanup(func() {
		if t.Failed() {
			c.diagnose(t)
		}
		if err := c.stop(); err != nil {
			t.Errorf("stop cluster: %v", err)
		}
	})
	if err := c.startAll(t.Context()); err != nil {
		if next := hint.Of(err); next != "" {
			t.Fatalf("start cluster: %v: %s", err, next)
		}
		t.Fatalf("start cluster: %v", err)
	}
	return c
}

func (c *Cluster) startAll(ctx context.Context) (err error) {
	if err := checkPlace(); err != nil {
		return err
	}
	if err := addNode(); err != nil {
		return err
	}
	certificates := filepath.Join(c.dir, "certificates")
	if err := os.Mkdir(certificates, 0o700); err != nil {
		return err
	}
	if c.authority, err = newAuthority(certificates); err != nil {
		return fmt.Errorf("make certificates: %w", err)
	}
	if c.admin, err = c.kubeconfigOf("admin", "admin", "system:masters"); err != nil {
		return fmt.Errorf("make certificates: %w", err)
	}
	if c.config, err = clientcmd.BuildConfigFromFlags("", c.admin); err != nil {
		return err
	}
	c.config.QPS = -1 // tests wait for nothing
	if c.client, err = client.New(c.config); err != nil {
		return err
	}
	for _, start := range []func(context.Context) error{c.startContainerd, c.startControlPlane, c.startNode, c.startNames, c.awaitNode} {
		if err := start(ctx); err != nil {
			return err
		}
	}
	return nil
}

// checkPlace fails outside of .ci/cluster: there kubelet and kube-proxy would change the
// machine. It looks for a setting of the kernel that is replaced by a file.
func checkPlace() error {
	mounts, err := procfs.GetMounts()
	if err != nil {
		return fmt.Errorf("list mounts: %w", err)
	}
	for _, m := range mounts {
		if m.MountPoint == "/proc/sys/vm/overcommit_memory" {
			return nil
		}
	}
	return hint.With(errors.New("it would change settings of this machine"), "run the test by .ci/cluster")
}

func (c *Cluster) startNames(ctx context.Context) (err error) {
	c.names, err = startNames(ctx, c.client)
	return err
}

// Kubeconfig is the path of the file by which the administrator reaches the API.
func (c *Cluster) Kubeconfig() string { return c.admin }

// RESTConfig is the administrator's, without a limit of requests.
func (c *Cluster) RESTConfig() *rest.Config { return rest.CopyConfig(c.config) }

// Client is the administrator's.
func (c *Cluster) Client() client.Interface { return c.client }

// NodeName is the name of the only node.
func (c *Cluster) NodeName() string { return nodeName }

// NodeAddress is the IP address of the node, at which pods reach the servers of the test.
func (c *Cluster) NodeAddress() string { return node.String() }

// StopAPIServer ends the API server as a crash does: connections to it are refused, and
// what runs in the cluster goes on.
func (c *Cluster) StopAPIServer(t testing.TB) {
	t.Helper()
	if err := c.apiServer.child.Kill(); err != nil {
		t.Fatal(err)
	}
}

// StartAPIServer starts the API server again, and returns when it answers.
func (c *Cluster) StartAPIServer(t testing.TB) {
	t.Helper()
	if err := c.run(c.apiServer); err != nil {
		t.Fatal(err)
	}
	if err := c.awaitAPI(t.Context()); err != nil {
		t.Fatal(err)
	}
}
