package clustertest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strconv"

	"assay.dev/assay/internal/testing/memorytest"
)

// startControlPlane starts etcd and the programs that need it, until the API answers.
func (c *Cluster) startControlPlane(ctx context.Context) (err error) {
	if c.data, err = memorytest.Make("assay-etcd-"); err != nil {
		return err
	}
	client, peer := "http://"+address(loopback, etcdPort), "http://"+address(loopback, etcdPort+1)
	_, err = c.start(c.packaged("etcd"), "--data-dir", c.data,
		"--listen-client-urls", client, "--advertise-client-urls", client,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default="+peer)
	if err != nil {
		return err
	}
	if err := c.await(ctx, "etcd", func(ctx context.Context) error { return get(ctx, client+"/health") }); err != nil {
		return err
	}
	if err := c.startAPI(ctx, client); err != nil {
		return err
	}
	for _, name := range []string{"kube-controller-manager", "kube-scheduler"} {
		user, err := c.kubeconfigOf(name, "system:"+name)
		if err != nil {
			return err
		}
		args := []string{"--kubeconfig", user, "--leader-elect=false", "--bind-address", loopback.String()}
		if name == "kube-controller-manager" {
			args = append(args, "--use-service-account-credentials", "--root-ca-file", c.authority.certificate(),
				"--service-account-private-key-file", c.tokens.key)
		}
		if _, err := c.start(c.own(name), args...); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) startAPI(ctx context.Context, etcd string) error {
	cert, err := c.authority.server("api",
		[]string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc." + domain},
		node.AsSlice(), api.AsSlice(), loopback.AsSlice())
	if err != nil {
		return err
	}
	toKubelet, err := c.authority.client("to-kubelet", "kube-apiserver", "system:masters")
	if err != nil {
		return err
	}
	if c.tokens, err = c.authority.tokenKeys(); err != nil {
		return err
	}
	c.apiServer, err = c.start(c.own("kube-apiserver"),
		"--etcd-servers", etcd, "--advertise-address", node.String(), "--secure-port", strconv.Itoa(apiPort),
		"--service-cluster-ip-range", services.String(), "--allow-privileged",
		"--authorization-mode", "Node,RBAC", "--enable-admission-plugins", "NodeRestriction",
		"--client-ca-file", c.authority.certificate(), "--tls-cert-file", cert.cert, "--tls-private-key-file", cert.key,
		"--kubelet-certificate-authority", c.authority.certificate(),
		"--kubelet-client-certificate", toKubelet.cert, "--kubelet-client-key", toKubelet.key,
		"--kubelet-preferred-address-types", "InternalIP",
		"--service-account-issuer", "https://kubernetes.default.svc."+domain,
		"--service-account-key-file", c.tokens.cert, "--service-account-signing-key-file", c.tokens.key,
		"--cert-dir", filepath.Join(c.dir, "api"))
	if err != nil {
		return err
	}
	return c.awaitAPI(ctx)
}

func (c *Cluster) awaitAPI(ctx context.Context) error {
	return c.await(ctx, "kube-apiserver", func(ctx context.Context) error {
		return c.client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	})
}

// get fails unless a URL answers with 200.
func get(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	// No connection is kept: none is left when the cluster ends.
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: (&net.Dialer{}).DialContext}}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, response.Status)
	}
	return nil
}
