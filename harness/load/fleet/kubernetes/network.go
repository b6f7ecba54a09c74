package kubernetes

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"assay/harness/cluster"
	"assay/harness/load/fleet"
	"assay/harness/wire/identity"
)

// operatorPort is where the k6-operator asks its runners for their status.
const operatorPort = 6565

// namePorts are those of name servers in pods: 53, and 5353 behind OpenShift's Service.
var namePorts = []int{53, 5353}

// networkPolicy lets workers reach the coordinator, name servers, the target and the
// other hosts that the script may send to, and nobody reach a worker. A plugin of the
// cluster's network enforces it, if it can.
func (s Settings) networkPolicy(l fleet.Launch) (*networkingv1.NetworkPolicy, error) {
	address, err := identity.ParseAddress(l.Address)
	if err != nil {
		return nil, err
	}
	var names []networkingv1.NetworkPolicyPort
	for _, n := range namePorts {
		names = append(names, port(corev1.ProtocolUDP, n), port(corev1.ProtocolTCP, n))
	}
	// Networks such as Cilium's know the pods of a coordinator by their labels, and do not
	// match their addresses.
	coordinator := networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{MatchLabels: cluster.Selector(s.Name, cluster.Coordinator)}}
	egress := []networkingv1.NetworkPolicyEgressRule{{Ports: names}, {To: []networkingv1.NetworkPolicyPeer{coordinator}}}
	add := func(rules []networkingv1.NetworkPolicyEgressRule) {
		for _, r := range rules {
			if !slices.ContainsFunc(egress, func(e networkingv1.NetworkPolicyEgressRule) bool { return equality.Semantic.DeepEqual(e, r) }) {
				egress = append(egress, r)
			}
		}
	}
	host, number, err := hostPort(address.URL)
	if err != nil {
		return nil, err
	}
	add(egressTo(host, number))
	target, targetPort, err := hostPort(l.Target)
	if err != nil {
		return nil, err
	}
	add(egressTo(target, targetPort))
	if l.Database != "" {
		if host, number, err = hostPort("//" + l.Database); err != nil {
			return nil, err
		}
		add(egressTo(host, number))
	}
	web := slices.Compact(slices.Sorted(slices.Values([]int{80, 443, targetPort})))
	for _, host := range l.Hosts {
		host = strings.ToLower(host)
		_, err := netip.ParseAddr(host)
		switch {
		case host == target: // has its rules
		case err == nil:
			add(egressTo(host))
		default:
			add(egressTo(host, web...))
		}
	}
	policy := &networkingv1.NetworkPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"},
		ObjectMeta: s.meta(s.workersName()),
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: cluster.Selector(s.Name, cluster.Worker)},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress},
			Egress:      egress,
		},
	}
	if s.Operator {
		policy.Spec.Ingress = []networkingv1.NetworkPolicyIngressRule{{Ports: []networkingv1.NetworkPolicyPort{port(corev1.ProtocolTCP, operatorPort)}}}
	}
	return policy, nil
}

// hostPort are the host of a URL and its port, or that of its scheme.
func hostPort(text string) (host string, number int, err error) {
	u, err := url.Parse(text)
	if err != nil {
		return "", 0, fmt.Errorf("network policy: %w", err)
	}
	if number, err = strconv.Atoi(u.Port()); err != nil {
		number = map[string]int{"http": 80, "https": 443}[u.Scheme]
	}
	return strings.ToLower(u.Hostname()), number, nil
}

// egressTo are the rules for a host, at these ports (none: all). A policy knows addresses
// and labels, but no names: a name of a Service stands for all pods of its namespace, whose
// ports are not the Service's, and any other name for all addresses, because those of a
// load balancer change. There k6 itself refuses hosts that are not allowed.
func egressTo(host string, numbers ...int) []networkingv1.NetworkPolicyEgressRule {
	var ports []networkingv1.NetworkPolicyPort
	for _, n := range numbers {
		ports = append(ports, port(corev1.ProtocolTCP, n))
	}
	if a, err := netip.ParseAddr(host); err == nil {
		a = a.Unmap()
		block := networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: netip.PrefixFrom(a, a.BitLen()).String()}}
		return []networkingv1.NetworkPolicyEgressRule{{To: []networkingv1.NetworkPolicyPeer{block}, Ports: ports}}
	}
	pods := networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{}}
	names := strings.Split(strings.ToLower(strings.TrimSuffix(host, ".")), ".")
	if len(names) > 1 {
		pods.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: names[1]}}
	}
	service := networkingv1.NetworkPolicyEgressRule{To: []networkingv1.NetworkPolicyPeer{pods}}
	switch {
	case len(names) == 1 || len(names) > 2 && names[2] == "svc":
		return []networkingv1.NetworkPolicyEgressRule{service}
	case len(names) == 2: // a Service of another namespace, or a host like example.com
		return []networkingv1.NetworkPolicyEgressRule{service, {Ports: ports}}
	}
	return []networkingv1.NetworkPolicyEgressRule{{Ports: ports}}
}

func port(protocol corev1.Protocol, number int) networkingv1.NetworkPolicyPort {
	return networkingv1.NetworkPolicyPort{Protocol: &protocol, Port: new(intstr.FromInt(number))}
}
