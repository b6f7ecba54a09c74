package main

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/url"
	"strconv"
	"strings"

	"assay.dev/assay/internal/cli"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"assay.dev/assay/internal/cluster"
	"assay.dev/assay/internal/observe/collect/service/endpoints"
	"assay.dev/assay/internal/run"
)

// checkTarget requires a target that pods may reach.
func checkTarget(o run.Options) error {
	next := "for example: --target http://shop.prod.svc:8080 --allow-target shop.prod.svc"
	if o.Target == "" {
		return cli.Usage(next, "workers in a cluster need the service's URL: --target or ASSAY_TARGET")
	}
	if err := run.CheckTarget(o); err != nil {
		return err
	}
	if u, err := url.Parse(o.Target); err == nil && isLoopback(u.Hostname()) {
		return cli.Usage(next, "pods cannot reach %s", o.Target)
	}
	return nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// checkAddress requires an address that pods can reach.
func checkAddress(listen, advertise string) error {
	next := "--listen 0.0.0.0:7077 --advertise ADDRESS:7077, with an address of this machine that pods can reach; or run the coordinator in the cluster: assay kubernetes certify"
	if listen == "" {
		return cli.Usage(next, "workers in a cluster need an address to join: --listen")
	}
	told := cmp.Or(advertise, listen)
	host, _, _ := net.SplitHostPort(told) // its form was checked
	ip := net.ParseIP(host)
	if isLoopback(host) || advertise != "" && ip != nil && ip.IsUnspecified() {
		return cli.Usage(next, "pods cannot reach %s", told)
	}
	return nil
}

// targetService is the Service that a target names; nil: it is no Service's, or that of an
// ExternalName, behind which the cluster knows no instances.
func targetService(ctx context.Context, c *cluster.Cluster, target string) *endpoints.Service {
	u, err := url.Parse(target)
	if err != nil {
		return nil
	}
	name, namespace, ok := endpoints.ParseService(u.Hostname(), c.Namespace)
	if !ok {
		return nil
	}
	port := map[string]int{"http": 80, "https": 443}[u.Scheme]
	if u.Port() != "" {
		port, _ = strconv.Atoi(u.Port())
	}
	s := endpoints.Of(c, namespace, name, port)
	_, err = s.URLs(ctx)
	// A name of two parts, like example.com, may be that of another host.
	if apierrors.IsNotFound(err) || errors.Is(err, endpoints.ErrExternal) || err != nil && strings.Count(u.Hostname(), ".") == 1 {
		return nil
	}
	return s
}
