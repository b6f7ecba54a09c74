package clustertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/procfs"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"assay.dev/assay/internal/cluster/client"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/servers/process"
)

// Cluster is a running cluster of one node.
type Cluster struct {
	programs  string // Env
	dir       string // folder of everything but etcd's data
	data      string // etcd's
	group     string // control group of the pods
	authority *authority
	tokens    pair
	busybox   map[string]File // files of the image Busybox
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

// writeKubeconfig writes the file by which a user reaches the cluster's API. It holds the
// certificates: client-go would watch files of their own for ever.
func (c *Cluster) writeKubeconfig(path string, user *clientcmdapi.AuthInfo) error {
	const name = "assay-test"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{
		Server: "https://" + address(node, apiPort), CertificateAuthority: c.authority.certificate(),
	}
	config.AuthInfos[name] = user
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	if err := clientcmdapi.FlattenConfig(config); err != nil {
		return err
	}
	return clientcmd.WriteToFile(*config, path)
}

// kubeconfigOf makes a certificate for a user of the API and writes the user's file.
func (c *Cluster) kubeconfigOf(file, user string, groups ...string) (path string, err error) {
	cert, err := c.authority.client(file, user, groups...)
	if err != nil {
		return "", err
	}
	path = filepath.Join(c.dir, file+".kubeconfig")
	return path, c.writeKubeconfig(path, &clientcmdapi.AuthInfo{ClientCertificate: cert.cert, ClientKey: cert.key})
}

// KubeconfigOf writes the file by which the owner of a token, such as a service account,
// reaches the API. Its path is returned.
func (c *Cluster) KubeconfigOf(t testing.TB, token string) string {
	t.Helper()
	f, err := os.CreateTemp(c.dir, "token-*.kubeconfig")
	if err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	if err := c.writeKubeconfig(f.Name(), &clientcmdapi.AuthInfo{Token: token}); err != nil {
		t.Fatal(err)
	}
	return f.Name()
}

// apply makes or changes all objects of a YAML text, as `kubectl apply` does. Objects
// without a namespace are made in default.
func (c *Cluster) apply(ctx context.Context, text []byte) error {
	client, err := dynamic.NewForConfig(c.config)
	if err != nil {
		return err
	}
	kinds, err := restmapper.GetAPIGroupResources(c.client.Discovery())
	if err != nil {
		return fmt.Errorf("list kinds of objects: %w", err)
	}
	mapper := restmapper.NewDiscoveryRESTMapper(kinds)
	for objects := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		var o unstructured.Unstructured
		if err := objects.Decode(&o.Object); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if len(o.Object) == 0 {
			continue // an empty document
		}
		kind := o.GroupVersionKind()
		mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			return err
		}
		var resource dynamic.ResourceInterface = client.Resource(mapping.Resource)
		if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
			if o.GetNamespace() == "" {
				o.SetNamespace(metav1.NamespaceDefault)
			}
			resource = client.Resource(mapping.Resource).Namespace(o.GetNamespace())
		}
		if _, err := resource.Apply(ctx, o.GetName(), &o, metav1.ApplyOptions{FieldManager: "assay-test", Force: true}); err != nil {
			return fmt.Errorf("apply %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
}
