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

	"assay.dev/assay/internal/cluster"
	"assay.dev/assay/internal/load/fleet"
	"assay.dev/assay/internal/observe/collect/service/endpoints"
	"assay.dev/assay/internal/wire/identity"
)

// operatorPort is where the k6-operator asks its runners for their status.
const operatorPort = 6565

// namePorts are those of name servers in pods: 53, and 5353 behind OpenShift's Service.
var namePorts = []int{53, 5353}

// networkPolicy lets workers reach the coordinator, name servers, the target, the database
// of the script and the other hosts that it may send to, as far as a policy can tell them
// apart (see allow), and nobody reach a worker. Only port 6565 of the k6-operator's runners
// is open, to everybody: the operator's pods have no labels that are known. A worker answers
// its status there, and nothing else. A plugin of the cluster's network enforces the policy, if it can.
//
// The policy guards against mistakes. It must not cut off what the script may reach, which
// the run would take for a failure of the target. k6 itself refuses hosts that are not
// allowed.
func (s Settings) networkPolicy(l fleet.Launch) (*networkingv1.NetworkPolicy, error) {
	egress, err := s.egress(l)
	if err != nil {
		return nil, err
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

// egress are the rules for what workers send.
func (s Settings) egress(l fleet.Launch) ([]networkingv1.NetworkPolicyEgressRule, error) {
	address, err := identity.ParseAddress(l.Address)
	if err != nil {
		return nil, err
	}
	coordinator, coordinatorPort, err := hostPort(address.URL)
	if err != nil {
		return nil, err
	}
	target, targetPort, err := hostPort(l.Target)
	if err != nil {
		return nil, err
	}
	var dns []networkingv1.NetworkPolicyPort
	for _, n := range namePorts {
		dns = append(dns, port(corev1.ProtocolUDP, n), port(corev1.ProtocolTCP, n))
	}
	// Networks such as Cilium's know the pods of a coordinator by their labels, and do not
	// match their addresses.
	pods := networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{MatchLabels: cluster.Selector(s.Name, cluster.Coordinator)}}
	egress := []networkingv1.NetworkPolicyEgressRule{{Ports: dns}, {To: []networkingv1.NetworkPolicyPeer{pods}}, to(coordinator, coordinatorPort)}
	add := func(rules []networkingv1.NetworkPolicyEgressRule) {
		for _, r := range rules {
			if !slices.ContainsFunc(egress, func(e networkingv1.NetworkPolicyEgressRule) bool { return equality.Semantic.DeepEqual(e, r) }) {
				egress = append(egress, r)
			}
		}
	}
	add(s.allow(target, append([]int{targetPort}, l.TargetPorts...)...))
	for _, server := range append([]string{l.Database}, l.Nodes...) {
		if server == "" {
			continue
		}
		host, number, err := hostPort("//" + server)
		if err != nil {
			return nil, err
		}
		add(s.allow(host, number))
	}
	for _, host := range l.Hosts {
		if host = strings.ToLower(host); host != target {
			add(s.allow(host)) // at every port: k6 knows only the host
		}
	}
	return egress, nil
}

// sharedAddresses are private to a provider's network (RFC 6598), which clusters use too.
var sharedAddresses = netip.MustParsePrefix("100.64.0.0/10")

// allow are the rules for a host, at these ports (none: all). A policy knows addresses and
// labels but no names, and plugins see the address and port by which the cluster has replaced
// those of a Service or of its load balancer. So a Service's name stands for all pods of its
// namespace, another name and a private address, which may be a Service's, for all pods; and
// all three also for other addresses than pods' at these ports: of a pod in the network of
// its node, of an ExternalName, of a server outside the cluster.
func (s Settings) allow(host string, numbers ...int) []networkingv1.NetworkPolicyEgressRule {
	pods := networkingv1.NetworkPolicyPeer{NamespaceSelector: &metav1.LabelSelector{}}
	if a, err := netip.ParseAddr(host); err == nil {
		if a = a.Unmap(); !a.IsPrivate() && !sharedAddresses.Contains(a) {
			return []networkingv1.NetworkPolicyEgressRule{to(host, numbers...)}
		}
	} else if _, namespace, ok := endpoints.ParseService(host, s.Namespace); ok {
		pods.NamespaceSelector.MatchLabels = map[string]string{corev1.LabelMetadataName: namespace}
	}
	return []networkingv1.NetworkPolicyEgressRule{{To: []networkingv1.NetworkPolicyPeer{pods}}, to("", numbers...)}
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

// to is the rule for an address, at these ports (none: all). A name stands for all addresses,
// because those of a load balancer change.
func to(host string, numbers ...int) (rule networkingv1.NetworkPolicyEgressRule) {
	slices.Sort(numbers)
	for _, n := range slices.Compact(numbers) {
		rule.Ports = append(rule.Ports, port(corev1.ProtocolTCP, n))
	}
	if a, err := netip.ParseAddr(host); err == nil {
		a = a.Unmap()
		rule.To = []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: netip.PrefixFrom(a, a.BitLen()).String()}}}
	}
	return rule
}

func port(protocol corev1.Protocol, number int) networkingv1.NetworkPolicyPort {
	return networkingv1.NetworkPolicyPort{Protocol: &protocol, Port: new(intstr.FromInt(number))}
}
