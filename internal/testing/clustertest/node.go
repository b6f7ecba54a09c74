package clustertest

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"text/template"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// nodeName is the only node's.
const nodeName = "n1"

// domain is that of the names of Services.
const domain = "cluster.local"

//go:embed *.tmpl
var files embed.FS

var configurations = template.Must(template.ParseFS(files, "*.tmpl"))

// configuration is what the templates name.
type configuration struct {
	Dir, Packages, Socket, Authority, Kubeconfig, Group, Pause string
	Name, Domain, Health                                       string
	Node                                                       netip.Addr
	Pods                                                       netip.Prefix
	Certificate                                                struct{ Cert, Key string }
}

// write writes a configuration file into the cluster's folder.
func (c *Cluster) write(name string, with configuration) (path string, err error) {
	path = filepath.Join(c.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	f, err := os.Create(path)
	if err != nil {
		return "", err
	}
	err = configurations.ExecuteTemplate(f, filepath.Base(name)+".tmpl", with)
	return path, errors.Join(err, f.Close())
}

func (c *Cluster) socket() string { return filepath.Join(c.dir, "containerd.sock") }

// configuration is what all programs of the node have in common.
func (c *Cluster) configuration() configuration {
	return configuration{
		Dir: c.dir, Packages: c.packages(), Socket: c.socket(), Authority: c.authority.certificate(),
		Group: c.group, Pause: pause, Name: nodeName, Domain: domain, Node: node, Pods: pods,
		Health: address(loopback, proxyPort),
	}
}

// startContainerd starts containerd, until it answers, with the images that every
// cluster has.
func (c *Cluster) startContainerd(ctx context.Context) error {
	with := c.configuration()
	if _, err := c.write("network/pods.conflist", with); err != nil {
		return err
	}
	path, err := c.write("containerd.toml", with)
	if err != nil {
		return err
	}
	if _, err := c.start(c.packaged("containerd"), "--config", path); err != nil {
		return err
	}
	if err := c.await(ctx, "containerd", func(ctx context.Context) error { return c.ctr(ctx, "version") }); err != nil {
		return err
	}
	return c.importBusybox(ctx)
}

// startNode starts kubelet and kube-proxy.
func (c *Cluster) startNode(ctx context.Context) error {
	if err := c.makeGroups(); err != nil {
		return err
	}
	with := c.configuration()
	cert, err := c.authority.server("kubelet-server", []string{nodeName}, node.AsSlice())
	if err != nil {
		return err
	}
	with.Certificate.Cert, with.Certificate.Key = cert.cert, cert.key
	user, err := c.kubeconfigOf("kubelet", "system:node:"+nodeName, "system:nodes")
	if err != nil {
		return err
	}
	path, err := c.write("kubelet.yaml", with)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(c.dir, "resolv.conf"), nil, 0o600); err != nil {
		return err
	}
	if _, err := c.start(c.own("kubelet"), "--config", path, "--kubeconfig", user, "--hostname-override", nodeName,
		"--node-ip", node.String(), "--root-dir", filepath.Join(c.dir, "kubelet"), "--cert-dir", filepath.Join(c.dir, "kubelet/pki")); err != nil {
		return err
	}
	if with.Kubeconfig, err = c.kubeconfigOf("kube-proxy", "system:kube-proxy"); err != nil {
		return err
	}
	if path, err = c.write("kube-proxy.yaml", with); err != nil {
		return err
	}
	if _, err := c.start(c.own("kube-proxy"), "--config", path); err != nil {
		return err
	}
	return c.await(ctx, "kube-proxy", func(ctx context.Context) error { return get(ctx, "http://"+address(loopback, proxyPort)+"/healthz") })
}

// awaitNode waits until pods can run on the node.
func (c *Cluster) awaitNode(ctx context.Context) error {
	return c.await(ctx, "kubelet", func(ctx context.Context) error {
		n, err := c.client.CoreV1().Nodes().Get(ctx, nodeName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, condition := range n.Status.Conditions {
			if condition.Type == corev1.NodeReady && condition.Status != corev1.ConditionTrue {
				return fmt.Errorf("the node is not ready: %s", condition.Message)
			}
		}
		if len(n.Spec.Taints) > 0 || len(n.Status.Conditions) == 0 {
			return fmt.Errorf("the node has taints: %v", n.Spec.Taints)
		}
		return c.serviceAccount(metav1.NamespaceDefault)(ctx)
	})
}

// serviceAccount fails until a namespace has the service account that its pods get.
func (c *Cluster) serviceAccount(namespace string) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := c.client.CoreV1().ServiceAccounts(namespace).Get(ctx, "default", metav1.GetOptions{})
		return err
	}
}
