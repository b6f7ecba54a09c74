package kubernetes

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"

	"assay.dev/assay/internal/cluster"
	"assay.dev/assay/internal/load/fleet"
)

// egressText is a rule as text: "PEER:PORT", with * for every one.
func egressText(r networkingv1.NetworkPolicyEgressRule) string {
	to := "*"
	for _, p := range r.To {
		switch {
		case p.IPBlock != nil:
			to = p.IPBlock.CIDR
		case p.PodSelector != nil:
			to = "pods of " + p.PodSelector.MatchLabels["app.kubernetes.io/component"]
		default:
			to = "pods in " + cmp.Or(p.NamespaceSelector.MatchLabels["kubernetes.io/metadata.name"], "all")
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
	const (
		at       = "10.1.2.3/32:7077/TCP"
		names    = "*:53/UDP,53/TCP,5353/UDP,5353/TCP"
		everyPod = "pods in all:*"
		public   = "http://shop.example.com"
		web      = "*:80/TCP"
	)
	for _, c := range []struct {
		address, target string
		hosts           []string
		database        string
		want            []string // without those for DNS and the coordinator's pod
	}{
		// A Service has pods of its namespace, or hosts outside of the cluster's network.
		{"https://10.1.2.3:7077", "http://shop:8080", []string{"shop"}, "", []string{at, "pods in load:*", "*:8080/TCP"}},
		{"https://10.1.2.3:7077", "http://Shop.", nil, "", []string{at, "pods in load:*", web}},
		{"https://10.1.2.3:7077", "http://shop.prod:8080", nil, "", []string{at, "pods in prod:*", "*:8080/TCP"}},
		{"https://10.1.2.3:7077", "http://shop.Prod.SVC.cluster.local.", nil, "", []string{at, "pods in prod:*", web}},
		// A private address may be a Service's, and another name that of a load balancer of the
		// cluster.
		{"https://10.1.2.3:7077", "http://10.96.8.7:8080", nil, "", []string{at, everyPod, "*:8080/TCP"}},
		{"https://10.1.2.3:7077", "http://100.64.8.7:8080", nil, "", []string{at, everyPod, "*:8080/TCP"}},
		{"https://10.1.2.3:7077", "http://[fd00::1]:8080", nil, "", []string{at, everyPod, "*:8080/TCP"}},
		{"https://10.1.2.3:7077", "http://[::ffff:10.9.8.7]", nil, "", []string{at, everyPod, web}},
		{"https://10.1.2.3:7077", "https://shop.example.com", nil, "", []string{at, everyPod, "*:443/TCP"}},
		{"https://10.1.2.3:7077", "http://SHOP.example.com", []string{"shop.example.com"}, "", []string{at, everyPod, web}},
		{"https://10.1.2.3:7077", "http://shop.svc.example.com:81", nil, "", []string{at, everyPod, "*:81/TCP"}},
		{"https://10.1.2.3:7077", "http://192.0.2.7:8080", []string{"192.0.2.7"}, "", []string{at, "192.0.2.7/32:8080/TCP"}},
		{"https://10.1.2.3:7077", "http://[2001:db8::7]:8080", nil, "", []string{at, "2001:db8::7/128:8080/TCP"}},
		{"https://10.1.2.3:7077", "http://192.0.2.7", nil, "db:3306", []string{at, "192.0.2.7/32:80/TCP", "pods in load:*", "*:3306/TCP"}},
		{"https://10.1.2.3:7077", public, nil, "10.4.5.6:3306", []string{at, everyPod, web, "*:3306/TCP"}},
		{"https://10.1.2.3:7077", public, nil, "192.0.2.9:5432", []string{at, everyPod, web, "192.0.2.9/32:5432/TCP"}},
		// The coordinator's name may be that of a Service, or of another machine.
		{"https://load.example.com", "http://192.0.2.7", nil, "", []string{"*:443/TCP", "192.0.2.7/32:80/TCP"}},
		{"https://ci-runner:7077", "http://192.0.2.7", nil, "", []string{"*:7077/TCP", "192.0.2.7/32:80/TCP"}},
		{"https://[fd00::2]:7077", "http://192.0.2.7", nil, "", []string{"fd00::2/128:7077/TCP", "192.0.2.7/32:80/TCP"}},
		// The ports of other hosts are not known.
		{"https://10.1.2.3:7077", "http://192.0.2.7", []string{"192.0.2.8"}, "", []string{at, "192.0.2.7/32:80/TCP", "192.0.2.8/32:*"}},
		{"https://10.1.2.3:7077", "http://192.0.2.7", []string{"pay.example.com", "Pay.prod.svc"}, "", []string{at, "192.0.2.7/32:80/TCP", everyPod, "*:*", "pods in prod:*"}},
	} {
		for _, operator := range []bool{false, true} {
			s := Settings{Name: "run", Namespace: "load", Operator: operator}
			p, err := s.networkPolicy(fleet.Launch{Address: c.address, Target: c.target, Hosts: c.hosts, Database: c.database})
			if err != nil {
				t.Errorf("%+v: %v", c, err)
				continue
			}
			got := make([]string, len(p.Spec.Egress))
			for i, r := range p.Spec.Egress {
				got[i] = egressText(r)
			}
			want := append([]string{names, "pods of coordinator:*"}, c.want...)
			if !slices.Equal(got, want) {
				t.Errorf("%s, %s, %s, %s: %q, want %q", c.address, c.target, c.hosts, c.database, got, want)
			}
			if diff := gocmp.Diff(cluster.Selector("run", cluster.Worker), p.Spec.PodSelector.MatchLabels); diff != "" || len(p.Spec.PolicyTypes) != 2 {
				t.Errorf("%v: pods (-want +got):\n%s", p.Spec.PolicyTypes, diff)
			}
			// Only the k6-operator asks workers for something.
			if in := p.Spec.Ingress; operator != (len(in) == 1 && len(in[0].Ports) == 1 && in[0].Ports[0].Port.IntValue() == operatorPort) || !operator && len(in) > 0 {
				t.Errorf("ingress %+v", in)
			}
		}
	}
	p, err := (Settings{Name: "run", Namespace: "load"}).networkPolicy(fleet.Launch{Address: "https://10.1.2.3:7077", Target: "http://shop", TargetPorts: []int{8081, 8080}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := egressText(p.Spec.Egress[len(p.Spec.Egress)-1]), "*:80/TCP,8080/TCP,8081/TCP"; got != want {
		t.Errorf("instances at other ports: %s, want %s", got, want)
	}
	for _, address := range []string{"", "10.1.2.3:7077", "https://10.1.2.3:7077#token"} {
		if _, err := (Settings{Name: "run"}).networkPolicy(fleet.Launch{Address: address, Target: "http://shop"}); err == nil {
			t.Errorf("coordinator at %q was accepted", address)
		}
	}
}
