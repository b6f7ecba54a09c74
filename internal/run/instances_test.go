//go:build live

package run

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"assay.dev/assay/internal/observe/collect/service/endpoints"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/testing/fake"
)

// shop is a Service with one instance, on the node n1.
func shop() (*fake.Clients, *endpoints.Service) {
	client := fake.New(
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "shop"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}},
		&discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "shop-1", Labels: map[string]string{discoveryv1.LabelServiceName: "shop"}},
			Endpoints:  []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.1"}, NodeName: new("n1")}},
			Ports:      []discoveryv1.EndpointPort{{Name: new(""), Port: new(int32(8080))}},
		},
	)
	return client, endpoints.Of(client, "prod", "shop", 80)
}

// A worker on a node of the service is co-located with it. If that cannot be found out it
// is noted.
func TestSharesNode(t *testing.T) {
	t.Parallel()
	client, service := shop()
	var said []string
	shares := func(of *endpoints.Service, nodes ...string) bool {
		var workers []record.WorkerHost
		for _, n := range nodes {
			workers = append(workers, record.WorkerHost{Node: n})
		}
		shared, err := sharesNode(t.Context(), of, workers)
		if err != nil {
			said = append(said, err.Error())
		}
		return shared
	}
	if shares(nil, "n1") {
		t.Error("a target that is no Service has a node")
	}
	for node, want := range map[string]bool{"n1": true, "n2": false, "": false} {
		if got := shares(service, "n3", node); got != want {
			t.Errorf("a worker on node %q: %t", node, got)
		}
	}
	client.PrependReactor("list", "endpointslices", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("no answer") })
	if shares(service, "n1") || !strings.Contains(strings.Join(said, "\n"), "no answer") {
		t.Errorf("said %q", said)
	}
}

// Metrics are read of each instance, unless these have certificates for the Service alone.
func TestInstances(t *testing.T) {
	t.Parallel()
	_, service := shop()
	o := System{Target: "http://shop.prod.svc", TargetService: service}
	urls, err := o.instances()(t.Context())
	if err != nil || strings.Join(urls, " ") != "http://10.0.0.1:8080/metrics" {
		t.Errorf("%q, %v", urls, err)
	}
	o.Target = "https://shop.prod.svc"
	if o.instances() != nil {
		t.Error("instances that serve HTTPS are read one by one")
	}
	if (System{Target: "http://127.0.0.1:1"}).instances() != nil {
		t.Error("instances of an address")
	}
}
