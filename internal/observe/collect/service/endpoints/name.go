package endpoints

import (
	"net/netip"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// domain is the default domain of a cluster.
const domain = "cluster.local"

// ParseService splits a host name, as a pod in a namespace would call it, into the name and
// the namespace of a Service: "shop", "shop.prod", "shop.prod.svc" and
// "shop.prod.svc.cluster.local", each also with a final dot. namespace is that of the
// caller; empty: the caller is not in the cluster, so that "shop" is not the name of a
// Service. ok is false for addresses, localhost and all other names.
//
// "shop.prod" cannot be distinguished from a public name such as "example.com", for which
// ok is true too: only if the cluster has that Service is it the Service's name. To
// find out, call Service.URLs: k8s.io/apimachinery/pkg/api/errors.IsNotFound
// holds for its error if there is no such Service.
func ParseService(host, namespace string) (name, ns string, ok bool) {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if _, err := netip.ParseAddr(host); err == nil || host == "localhost" {
		return "", "", false
	}
	labels := strings.Split(host, ".")
	switch rest := strings.Join(labels[min(2, len(labels)):], "."); {
	case len(labels) == 1:
		name, ns = host, namespace
	case rest == "", rest == "svc", rest == "svc."+domain:
		name, ns = labels[0], labels[1]
	}
	if len(validation.IsDNS1123Label(name)) > 0 || len(validation.IsDNS1123Label(ns)) > 0 {
		return "", "", false
	}
	return name, ns, true
}
