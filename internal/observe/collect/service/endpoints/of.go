package endpoints

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"

	"assay.dev/assay/internal/cluster/client"
	"assay.dev/assay/internal/hint"
)

// metricsPath is where instances expose their metrics.
const metricsPath = "/metrics"

// Service is a Service of a cluster.
type Service struct {
	client          client.Interface
	namespace, name string
	port            int
}

// Of is the Service of that name. port is the one of its ports that leads to the service.
func Of(client client.Interface, namespace, name string, port int) *Service {
	return &Service{client, namespace, name, port}
}

// ErrExternal is the error of a Service that is another name of a host: its instances are
// not known to the cluster.
var ErrExternal = errors.New("it is of type ExternalName")

// String is NAMESPACE/NAME.
func (s *Service) String() string { return s.namespace + "/" + s.name }

// URLs lists the URLs of the metrics of all instances, such as
// http://10.1.2.3:8080/metrics: of their ports to which the Service's port leads. There are
// none if no instance is ready.
//
// Its error says what is missing: the Service (apierrors.IsNotFound holds), its port, or a
// right of the client's account; or it is ErrExternal.
func (s *Service) URLs(ctx context.Context) ([]string, error) {
	found, err := s.client.CoreV1().Services(s.namespace).Get(ctx, s.name, metav1.GetOptions{})
	if err != nil {
		return nil, s.explain(err, "get services")
	}
	if found.Spec.Type == corev1.ServiceTypeExternalName {
		return nil, s.explain(ErrExternal, "")
	}
	port, err := portOf(found, s.port)
	if err != nil {
		return nil, err
	}
	all, err := s.slices(ctx)
	return URLs(all, port, metricsPath), err
}

// Nodes lists the names of the nodes that instances run on, as far as they are known.
func (s *Service) Nodes(ctx context.Context) ([]string, error) {
	all, err := s.slices(ctx)
	return Nodes(all), err
}

func (s *Service) slices(ctx context.Context) ([]discoveryv1.EndpointSlice, error) {
	selector := labels.Set{discoveryv1.LabelServiceName: s.name}.String()
	all, err := s.client.DiscoveryV1().EndpointSlices(s.namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, s.explain(err, "list endpointslices.discovery.k8s.io")
	}
	return all.Items, nil
}

// explain adds to an error of the cluster what was read, and which right may be missing.
func (s *Service) explain(err error, right string) error {
	wrapped := fmt.Errorf("list the instances of service %s: %w", s, err)
	if apierrors.IsForbidden(err) {
		return hint.With(wrapped, fmt.Sprintf("allow the account to %s: assay kubernetes rbac --kubernetes-namespace NAMESPACE --target-namespace %s | kubectl apply -f -, with the namespace of the runs", right, s.namespace))
	}
	return wrapped
}

// portOf returns the port that EndpointSlices have for a port of a Service: its name. The
// name of a headless Service leads to the instances themselves, so that its port is theirs.
func portOf(s *corev1.Service, number int) (port intstr.IntOrString, err error) {
	if s.Spec.ClusterIP == corev1.ClusterIPNone {
		return intstr.FromInt(number), nil
	}
	var others []string
	for _, p := range s.Spec.Ports {
		if p.Protocol != corev1.ProtocolTCP && p.Protocol != "" {
			continue
		}
		if int(p.Port) == number {
			return intstr.FromString(p.Name), nil
		}
		others = append(others, fmt.Sprint(p.Port))
	}
	err = fmt.Errorf("service %s/%s has no TCP port %d", s.Namespace, s.Name, number)
	if len(others) == 0 {
		return port, err
	}
	return port, hint.With(err, "name one of its ports in the target's URL: "+strings.Join(others, ", "))
}

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

// URLs returns a URL for each instance in the EndpointSlices of a Service that is ready,
// serving and not terminating, sorted, each instance once. port is the name of the
// Service's port, empty if it has none, for the target port of that name in each slice; or
// a number, for that port of every instance. Slices without the port have no instances.
//
// An instance may be in several slices: briefly while slices are changed, and if it has an
// IPv4 and an IPv6 address. The IPv4 address is used, because a second one would count the
// instance twice.
func URLs(all []discoveryv1.EndpointSlice, port intstr.IntOrString, path string) []string {
	addresses := map[string]netip.AddrPort{} // by instance
	for _, slice := range all {
		number, ok := targetPort(slice.Ports, port)
		if !ok {
			continue
		}
		for _, e := range slice.Endpoints {
			address, ok := addressOf(e)
			if !ok || !isReady(e.Conditions) {
				continue
			}
			a := netip.AddrPortFrom(address, number)
			id := identity(e, a)
			if other, known := addresses[id]; !known || a.Compare(other) < 0 { // IPv4 sorts before IPv6
				addresses[id] = a
			}
		}
	}
	var urls []string
	for a := range maps.Values(addresses) {
		u := url.URL{Scheme: "http", Host: a.String(), Path: path}
		urls = append(urls, u.String())
	}
	slices.Sort(urls)
	return slices.Compact(urls)
}

// Nodes returns the names of the nodes of all instances in EndpointSlices, sorted.
func Nodes(all []discoveryv1.EndpointSlice) (names []string) {
	for _, slice := range all {
		for _, e := range slice.Endpoints {
			if name := or(e.NodeName, ""); name != "" {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func targetPort(ports []discoveryv1.EndpointPort, wanted intstr.IntOrString) (number uint16, ok bool) {
	if wanted.Type == intstr.Int {
		return valid(wanted.IntVal)
	}
	for _, p := range ports {
		if or(p.Name, "") == wanted.StrVal && or(p.Protocol, corev1.ProtocolTCP) == corev1.ProtocolTCP {
			return valid(or(p.Port, 0))
		}
	}
	return 0, false
}

func valid(port int32) (number uint16, ok bool) {
	return uint16(port), 0 < port && port < 1<<16
}

// addressOf returns the address of an endpoint: the first, as further ones have no meaning.
// Host names are not supported: no controller writes them.
func addressOf(e discoveryv1.Endpoint) (address netip.Addr, ok bool) {
	if len(e.Addresses) == 0 {
		return address, false
	}
	address, err := netip.ParseAddr(e.Addresses[0])
	return address, err == nil && address.Zone() == ""
}

// isReady reads conditions whose missing values mean ready, serving and not terminating.
func isReady(c discoveryv1.EndpointConditions) bool {
	return or(c.Ready, true) && or(c.Serving, true) && !or(c.Terminating, false)
}

// identity identifies an instance: by its pod, or without one by its address.
func identity(e discoveryv1.Endpoint, a netip.AddrPort) string {
	if pod := e.TargetRef; pod != nil {
		return cmp.Or(string(pod.UID), pod.Kind+"/"+pod.Namespace+"/"+pod.Name)
	}
	return a.String()
}

func or[T any](p *T, missing T) T {
	if p == nil {
		return missing
	}
	return *p
}
