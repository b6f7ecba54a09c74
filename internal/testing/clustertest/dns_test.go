package clustertest

import (
	"fmt"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"
	"k8s.io/client-go/tools/cache"
	"pgregory.net/rapid"
)

// namesOf knows a Service with an address, "shop", and one without, "all", behind which
// are some pods that are ready, "p0" and so on, and one that is not.
func namesOf(t *testing.T, pods int) *names {
	t.Helper()
	services := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	endpointSlices := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	for name, ip := range map[string]string{"shop": "198.18.2.7", "all": corev1.ClusterIPNone} {
		if err := services.Add(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Spec: corev1.ServiceSpec{ClusterIP: ip}}); err != nil {
			t.Fatal(err)
		}
	}
	slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "all-1", Labels: map[string]string{discoveryv1.LabelServiceName: "all"},
	}}
	for i := range pods {
		host := fmt.Sprint("p", i)
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{fmt.Sprint("198.18.3.", i)}, Hostname: &host})
	}
	slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
		Addresses: []string{"198.18.3.250"}, Conditions: discoveryv1.EndpointConditions{Ready: new(bool)},
	})
	if err := endpointSlices.Add(slice); err != nil {
		t.Fatal(err)
	}
	return &names{services: corelisters.NewServiceLister(services), slices: discoverylisters.NewEndpointSliceLister(endpointSlices)}
}

func ask(t *testing.T, n *names, name string, kind dnsmessage.Type, limit int) (reply dnsmessage.Message) {
	t.Helper()
	question := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: 7, RecursionDesired: true},
		Questions: []dnsmessage.Question{{Name: dnsmessage.MustNewName(name), Type: kind, Class: dnsmessage.ClassINET}},
	}
	message, err := question.Pack()
	if err != nil {
		t.Fatal(err)
	}
	got, err := n.reply(message, limit)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) > limit {
		t.Errorf("%s: %d bytes, limit %d", name, len(got), limit)
	}
	if err := reply.Unpack(got); err != nil {
		t.Fatal(err)
	}
	if reply.ID != 7 || !reply.Response || len(reply.Questions) != 1 {
		t.Errorf("%s: %+v", name, reply)
	}
	return reply
}

func TestNames(t *testing.T) {
	n := namesOf(t, 100)
	for _, c := range []struct {
		name    string
		kind    dnsmessage.Type
		answers int
		code    dnsmessage.RCode
	}{
		{"shop.ns.svc.cluster.local.", dnsmessage.TypeA, 1, dnsmessage.RCodeSuccess},
		{"SHOP.ns.SVC.cluster.local.", dnsmessage.TypeA, 1, dnsmessage.RCodeSuccess},
		{"shop.ns.svc.cluster.local.", dnsmessage.TypeAAAA, 0, dnsmessage.RCodeSuccess},
		{"all.ns.svc.cluster.local.", dnsmessage.TypeA, 100, dnsmessage.RCodeSuccess},
		{"p3.all.ns.svc.cluster.local.", dnsmessage.TypeA, 1, dnsmessage.RCodeSuccess},
		{"p100.all.ns.svc.cluster.local.", dnsmessage.TypeA, 0, dnsmessage.RCodeNameError},
		{"p3.shop.ns.svc.cluster.local.", dnsmessage.TypeA, 0, dnsmessage.RCodeNameError},
		{"shop.other.svc.cluster.local.", dnsmessage.TypeA, 0, dnsmessage.RCodeNameError},
		{"shop.ns.svc.", dnsmessage.TypeA, 0, dnsmessage.RCodeNameError},
		{"example.com.", dnsmessage.TypeA, 0, dnsmessage.RCodeNameError},
	} {
		reply := ask(t, n, c.name, c.kind, 1<<16-1)
		if len(reply.Answers) != c.answers || reply.RCode != c.code || reply.Truncated {
			t.Errorf("%s: %d answers, %s", c.name, len(reply.Answers), reply.RCode)
		}
	}
	short := ask(t, n, "all.ns.svc.cluster.local.", dnsmessage.TypeA, maxDatagram)
	if !short.Truncated || len(short.Answers) > 0 {
		t.Errorf("an answer that is too long for a datagram: %+v", short.Header)
	}
}

// Whatever a pod sends, there is a reply or an error.
func TestNamesOfAnyMessage(t *testing.T) {
	n := namesOf(t, 1)
	rapid.Check(t, func(t *rapid.T) {
		message := rapid.SliceOfN(rapid.Byte(), 0, 100).Draw(t, "message")
		if reply, err := n.reply(message, maxDatagram); err == nil && len(reply) > maxDatagram {
			t.Fatalf("%d bytes", len(reply))
		}
	})
}
