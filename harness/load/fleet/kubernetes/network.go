package kubernetes

import (
	"fmt"
	"maps"
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
	"assay/harness/observe/collect/service/endpoints"
	"assay/harness/wire/identity"
)

// operatorPort is where the k6-operator asks its runners for their status.
const operatorPort = 6565

// namePorts are those of name servers in pods: 53, and 5353 behind OpenShift's Service.
var namePorts = []int{53, 5353}

// networkPolicy lets workers reach the coordinator, name servers, the target, the database
// of the script and the other hosts that it may send to, as far as a policy can tell them
// apart (see egress), and nobody reach a worker. Only port 6565 of the k6-operator's runners
// is open, to everybody: the operator's pods have no labels that are known, and nothing
// listens there in a worker. A plugin of the cluster's network enforces the policy, if it can.
//
// The policy guards against mistakes. It must never cut off what the script may reach, which
// the run would take for a failure of the target: where that is not known, all is allowed. k6
// itself refuses hosts that are not allowed.
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

// egress are the rules for what workers send. k6 knows of further hosts only their names:
// a script may use any of their ports.
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
	hosts := map[string][]int{} // with their ports; none: all
	for _, host := range l.Hosts {
		hosts[strings.ToLower(host)] = nil
	}
	hosts[target] = []int{targetPort}
	if l.Database != "" {
		host, number, err := hostPort("//" + l.Database)
		if err != nil {
			return nil, err
		}
		if numbers, known := hosts[host]; !known || len(numbers) > 0 {
			hosts[host] = slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(numbers), number))))
		}
	}
	var names []networkingv1.NetworkPolicyPort
	for _, n := range namePorts {
		names = append(names, port(corev1.ProtocolUDP, n), port(corev1.ProtocolTCP, n))
	}
	// Also for the coordinator's pod: networks such as Cilium's know pods by their labels, and
	// do not match their addresses.
	everyPod := networkingv1.NetworkPolicyPeer{NamespaceSelector: &metav1.LabelSelector{}, PodSelector: &metav1.LabelSelector{}}
	egress := []networkingv1.NetworkPolicyEgressRule{{Ports: names}, {To: []networkingv1.NetworkPolicyPeer{everyPod}}, toPort(coordinator, coordinatorPort)}
	for _, host := range slices.Sorted(maps.Keys(hosts)) {
		rule := toPort(host, hosts[host]...)
		if s.ofCluster(host) || len(rule.To)+len(rule.Ports) == 0 {
			return []networkingv1.NetworkPolicyEgressRule{{}}, nil // all
		}
		if !slices.ContainsFunc(egress, func(e networkingv1.NetworkPolicyEgressRule) bool { return equality.Semantic.DeepEqual(e, rule) }) {
			egress = append(egress, rule)
		}
	}
	return egress, nil
}

// sharedAddresses are private to a provider's network (RFC 6598), which clusters use too.
var sharedAddresses = netip.MustParsePrefix("100.64.0.0/10")

// ofCluster reports whether a host may be a Service. A plugin does not see a Service's
// address and port, but those that the cluster has replaced them by: of a pod, of a node, or
// of any other host, which no manifest can know.
func (s Settings) ofCluster(host string) bool {
	if a, err := netip.ParseAddr(host); err == nil {
		a = a.Unmap()
		return a.IsPrivate() || sharedAddresses.Contains(a)
	}
	_, _, isService := endpoints.ParseService(host, s.Namespace)
	return isService
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

// toPort is the rule for a host, at these ports (none: all). A policy knows addresses but
// no names: a name stands for all addresses, because those of a load balancer change. Its
// pods, if it is one of this cluster, have other ports: every pod is allowed besides.
func toPort(host string, numbers ...int) (rule networkingv1.NetworkPolicyEgressRule) {
	for _, n := range numbers {
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
