package kubernetes

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"

	"assay/harness/cluster"
	"assay/harness/load/fleet"
)

// egressText is a rule as text: "PEER:PORT", with * for every one.
func egressText(r networkingv1.NetworkPolicyEgressRule) string {
	to := "*"
	for _, p := range r.To {
		switch {
		case p.IPBlock != nil:
			to = p.IPBlock.CIDR
		case p.NamespaceSelector != nil:
			to = fmt.Sprint("pods of ", p.NamespaceSelector.MatchLabels["kubernetes.io/metadata.name"])
		case len(p.PodSelector.MatchLabels) > 0:
			to = p.PodSelector.MatchLabels["app.kubernetes.io/component"]
		default:
			to = "pods"
		}
	}
	var ports []string
	for _, p := range r.Ports {
		ports = append(ports, fmt.Sprintf("%s/%s", p.Port, *p.Protocol))
	}
	if ports == nil {
		ports = []string{"*"}
	}
	return to + ":" + strings.Join(ports, ",")
}

// Workers may send to the coordinator, the target and the other hosts, and nobody to them.
func TestNetworkPolicy(t *testing.T) {
	t.Parallel()
	const at = "10.1.2.3/32:7077/TCP"
	for _, c := range []struct {
		address, target string
		hosts           []string
		want            []string // without those for DNS and a coordinator's pod
	}{
		{"https://10.1.2.3:7077", "http://10.9.8.7:8080", nil, []string{at, "10.9.8.7/32:8080/TCP"}},
		{"https://10.1.2.3:7077", "http://[fd00::1]:8080", nil, []string{at, "fd00::1/128:8080/TCP"}},
		{"https://10.1.2.3:7077", "http://[::ffff:10.9.8.7]", nil, []string{at, "10.9.8.7/32:80/TCP"}},
		{"https://10.1.2.3:7077", "http://shop:8080", []string{"shop"}, []string{at, "pods:*"}},
		{"https://10.1.2.3:7077", "http://Shop.", nil, []string{at, "pods:*"}},
		{"https://10.1.2.3:7077", "http://shop.prod:8080", nil, []string{at, "pods of prod:*", "*:8080/TCP"}},
		{"https://10.1.2.3:7077", "http://shop.prod.svc", []string{"shop.prod.svc"}, []string{at, "pods of prod:*"}},
		{"https://10.1.2.3:7077", "http://shop.Prod.SVC.cluster.local.", nil, []string{at, "pods of prod:*"}},
		{"https://10.1.2.3:7077", "https://shop.example.com", nil, []string{at, "*:443/TCP"}},
		{"https://10.1.2.3:7077", "http://shop.example.com", nil, []string{at, "*:80/TCP"}},
		{"https://10.1.2.3:7077", "http://shop.svc.example.com:81", nil, []string{at, "*:81/TCP"}},
		{"https://load.example.com", "http://shop", nil, []string{"*:443/TCP", "pods:*"}},
		{"https://coordinator:7077", "http://shop", nil, []string{"pods:*"}},
		{"https://[fd00::2]:7077", "http://shop", nil, []string{"fd00::2/128:7077/TCP", "pods:*"}},
		{"https://10.1.2.3:7077", "http://shop", []string{"10.9.8.7", "pay.prod.svc"}, []string{at, "pods:*", "10.9.8.7/32:*", "pods of prod:*"}},
		{"https://10.1.2.3:7077", "http://shop.prod", []string{"Shop.prod"}, []string{at, "pods of prod:*", "*:80/TCP"}},
		// The ports of other hosts are not known: those of the web, and the target's.
		{"https://10.1.2.3:7077", "http://shop", []string{"pay.example.com"}, []string{at, "pods:*", "*:80/TCP,443/TCP"}},
		{"https://10.1.2.3:7077", "https://shop:8443", []string{"pay.example.com"}, []string{at, "pods:*", "*:80/TCP,443/TCP,8443/TCP"}},
	} {
		for _, operator := range []bool{false, true} {
			s := Settings{Name: "run", Namespace: "load", Operator: operator}
			p, err := s.networkPolicy(fleet.Launch{Address: c.address, Target: c.target, Hosts: c.hosts})
			if err != nil {
				t.Errorf("%+v: %v", c, err)
				continue
			}
			got := make([]string, len(p.Spec.Egress))
			for i, r := range p.Spec.Egress {
				got[i] = egressText(r)
			}
			if want := append([]string{"*:53/UDP,53/TCP,5353/UDP,5353/TCP", "coordinator:*"}, c.want...); !slices.Equal(got, want) {
				t.Errorf("%s, %s, %s: %q, want %q", c.address, c.target, c.hosts, got, want)
			}
			if len(p.Spec.PolicyTypes) != 2 || p.Spec.PodSelector.MatchLabels["app.kubernetes.io/component"] != cluster.Worker || p.Spec.PodSelector.MatchLabels["app.kubernetes.io/instance"] != "run" {
				t.Errorf("%+v", p.Spec)
			}
			// Only the k6-operator asks workers for something.
			if in := p.Spec.Ingress; operator != (len(in) == 1 && len(in[0].Ports) == 1 && in[0].Ports[0].Port.IntValue() == operatorPort) || !operator && len(in) > 0 {
				t.Errorf("ingress %+v", in)
			}
		}
	}
	// A script that connects to the database reaches it too.
	for database, want := range map[string]string{"10.4.5.6:3306": "10.4.5.6/32:3306/TCP", "db.prod.svc:3306": "pods of prod:*", "db.example.com:5432": "*:5432/TCP", "db:3306": "pods:*"} {
		p, err := Settings{Name: "run"}.networkPolicy(fleet.Launch{Address: "https://10.1.2.3:7077", Target: "http://10.9.8.7:8080", Database: database})
		if err != nil || len(p.Spec.Egress) != 5 || egressText(p.Spec.Egress[4]) != want {
			t.Errorf("database at %s: %+v, %v, want %s", database, p, err, want)
		}
	}
	for _, address := range []string{"", "10.1.2.3:7077", "https://10.1.2.3:7077#token"} {
		if _, err := (Settings{Name: "run"}).networkPolicy(fleet.Launch{Address: address, Target: "http://shop"}); err == nil {
			t.Errorf("coordinator at %q was accepted", address)
		}
	}
}
