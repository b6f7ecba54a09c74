package endpoints_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"assay.dev/assay/internal/observe/collect/service/endpoints"
)

// slice is an EndpointSlice with a port "http" at number, and a port "admin" at 9.
func slice(number int32, all ...discoveryv1.Endpoint) discoveryv1.EndpointSlice {
	return discoveryv1.EndpointSlice{
		AddressType: discoveryv1.AddressTypeIPv4, Endpoints: all,
		Ports: []discoveryv1.EndpointPort{{Name: new("admin"), Port: new(int32(9))}, {Name: new("http"), Port: &number}},
	}
}

func at(addresses ...string) discoveryv1.Endpoint { return discoveryv1.Endpoint{Addresses: addresses} }

func with(e discoveryv1.Endpoint, ready, serving, terminating *bool) discoveryv1.Endpoint {
	e.Conditions = discoveryv1.EndpointConditions{Ready: ready, Serving: serving, Terminating: terminating}
	return e
}

func of(e discoveryv1.Endpoint, uid string) discoveryv1.Endpoint {
	e.TargetRef = &corev1.ObjectReference{Kind: "Pod", Namespace: "prod", Name: "pod-" + uid, UID: types.UID(uid)}
	return e
}

func TestURLs(t *testing.T) {
	t.Parallel()
	yes, no := new(true), new(false)
	unnamed := slice(80, at("10.0.0.1"))
	unnamed.Ports = []discoveryv1.EndpointPort{{Port: new(int32(8080))}}
	emptyName := slice(80, at("10.0.0.2"))
	emptyName.Ports = []discoveryv1.EndpointPort{{Name: new(""), Port: new(int32(8081))}}
	both := slice(80, at("10.0.0.1"))
	both.Ports = []discoveryv1.EndpointPort{
		{Name: new("http"), Port: new(int32(53)), Protocol: new(corev1.ProtocolUDP)},
		{Name: new("http"), Port: new(int32(54)), Protocol: new(corev1.ProtocolTCP)},
	}
	anyPort := slice(80, at("10.0.0.1"))
	anyPort.Ports = []discoveryv1.EndpointPort{{Name: new("http")}}
	noPorts := slice(80, at("10.0.0.1"))
	noPorts.Ports = nil

	http := intstr.FromString("http")
	for name, c := range map[string]struct {
		slices []discoveryv1.EndpointSlice
		port   intstr.IntOrString
		want   []string
	}{
		"no slices":    {nil, http, nil},
		"no endpoints": {[]discoveryv1.EndpointSlice{slice(80)}, http, nil},
		"sorted, of several slices": {
			[]discoveryv1.EndpointSlice{slice(8080, at("10.0.0.3"), at("10.0.0.1")), slice(8081, at("10.0.0.2"))},
			http,
			[]string{"http://10.0.0.1:8080/metrics", "http://10.0.0.2:8081/metrics", "http://10.0.0.3:8080/metrics"},
		},
		"IPv6": {[]discoveryv1.EndpointSlice{slice(80, at("fd00::1"))}, http, []string{"http://[fd00::1]:80/metrics"}},
		"conditions": {
			[]discoveryv1.EndpointSlice{slice(
				80, with(at("10.0.0.1"), nil, nil, nil), with(at("10.0.0.2"), yes, yes, no), with(at("10.0.0.3"), no, no, no),
				with(at("10.0.0.4"), no, yes, yes), with(at("10.0.0.5"), yes, no, no), with(at("10.0.0.6"), yes, yes, yes), with(at("10.0.0.7"), no, nil, nil),
			)},
			http,
			[]string{"http://10.0.0.1:80/metrics", "http://10.0.0.2:80/metrics"},
		},
		"another port": {[]discoveryv1.EndpointSlice{slice(80, at("10.0.0.1"))}, intstr.FromString("admin"), []string{"http://10.0.0.1:9/metrics"}},
		"unknown port": {[]discoveryv1.EndpointSlice{slice(80, at("10.0.0.1"))}, intstr.FromString("zebra"), nil},
		"unnamed port": {
			[]discoveryv1.EndpointSlice{unnamed, emptyName},
			intstr.FromString(""),
			[]string{"http://10.0.0.1:8080/metrics", "http://10.0.0.2:8081/metrics"},
		},
		"named, not unnamed":     {[]discoveryv1.EndpointSlice{unnamed}, http, nil},
		"unnamed, not named":     {[]discoveryv1.EndpointSlice{slice(80, at("10.0.0.1"))}, intstr.FromString(""), nil},
		"TCP, not UDP":           {[]discoveryv1.EndpointSlice{both}, http, []string{"http://10.0.0.1:54/metrics"}},
		"any port":               {[]discoveryv1.EndpointSlice{anyPort}, http, nil},
		"by number":              {[]discoveryv1.EndpointSlice{noPorts}, intstr.FromInt(8080), []string{"http://10.0.0.1:8080/metrics"}},
		"by an invalid number":   {[]discoveryv1.EndpointSlice{noPorts}, intstr.FromInt(1<<16 + 80), nil},
		"in two slices":          {[]discoveryv1.EndpointSlice{slice(80, at("10.0.0.1")), slice(80, at("10.0.0.1"))}, http, []string{"http://10.0.0.1:80/metrics"}},
		"only the first address": {[]discoveryv1.EndpointSlice{slice(80, at("10.0.0.1", "10.0.0.2"))}, http, []string{"http://10.0.0.1:80/metrics"}},
		"no IP addresses":        {[]discoveryv1.EndpointSlice{slice(80, at(), at("shop.example.com"), at("fe80::1%eth0"))}, http, nil},
		"one pod by IPv6 and IPv4": {
			[]discoveryv1.EndpointSlice{slice(80, of(at("fd00::1"), "a"), of(at("fd00::2"), "b")), slice(80, of(at("10.0.0.2"), "b"), of(at("10.0.0.1"), "a"))},
			http,
			[]string{"http://10.0.0.1:80/metrics", "http://10.0.0.2:80/metrics"},
		},
		"two pods of one address": {
			[]discoveryv1.EndpointSlice{slice(80, of(at("10.0.0.1"), "old")), slice(80, of(at("10.0.0.1"), "new"))},
			http,
			[]string{"http://10.0.0.1:80/metrics"},
		},
	} {
		if diff := cmp.Diff(c.want, endpoints.URLs(c.slices, c.port, "/metrics")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// The order of slices and endpoints, and repeated slices, do not change the URLs.
func TestURLsDoNotDependOnOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		endpoint := rapid.Custom(func(t *rapid.T) discoveryv1.Endpoint {
			e := at(rapid.SampledFrom([]string{"10.0.0.1", "10.0.0.2", "fd00::1", "fd00::2"}).Draw(t, "address"))
			if uid := rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "pod"); uid != "" {
				e = of(e, uid)
			}
			return with(e, rapid.Ptr(rapid.Bool(), true).Draw(t, "ready"), nil, nil)
		})
		var all []discoveryv1.EndpointSlice
		for _, e := range rapid.SliceOfN(rapid.SliceOfN(endpoint, 0, 4), 0, 4).Draw(t, "slices") {
			all = append(all, slice(rapid.Int32Range(80, 81).Draw(t, "port"), e...))
		}
		want := endpoints.URLs(all, intstr.FromString("http"), "/metrics")
		if !slices.IsSorted(want) {
			t.Fatalf("not sorted: %q", want)
		}
		other := rapid.Permutation(slices.Concat(all, all)).Draw(t, "order")
		if got := endpoints.URLs(other, intstr.FromString("http"), "/metrics"); !slices.Equal(got, want) {
			t.Fatalf("%q, in another order %q", want, got)
		}
	})
}
