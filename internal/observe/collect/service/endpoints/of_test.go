package endpoints_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/observe/collect/service/endpoints"
	"assay.dev/assay/internal/testing/fake"
)

func serviceOf(namespace, name, clusterIP string, ports ...corev1.ServicePort) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       corev1.ServiceSpec{ClusterIP: clusterIP, Ports: ports},
	}
}

func sliceOf(namespace, service, name string, number int32, addresses ...string) *discoveryv1.EndpointSlice {
	s := slice(number)
	for _, a := range addresses {
		s.Endpoints = append(s.Endpoints, at(a))
	}
	s.ObjectMeta = metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: service}}
	return &s
}

func cluster() *fake.Clients {
	return fake.New(
		serviceOf("prod", "shop", "10.96.0.1",
			corev1.ServicePort{Name: "dns", Port: 80, Protocol: corev1.ProtocolUDP},
			corev1.ServicePort{Name: "admin", Port: 81}, corev1.ServicePort{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP}),
		serviceOf("prod", "direct", corev1.ClusterIPNone, corev1.ServicePort{Name: "http", Port: 80}),
		serviceOf("prod", "udp", "10.96.0.2", corev1.ServicePort{Port: 53, Protocol: corev1.ProtocolUDP}),
		&corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "alias"},
			Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "shop.example.com", Ports: []corev1.ServicePort{{Port: 80}}},
		},
		serviceOf("test", "shop", "10.96.0.3", corev1.ServicePort{Name: "http", Port: 80}),
		sliceOf("prod", "shop", "shop-1", 8080, "10.0.0.2"),
		sliceOf("prod", "shop", "shop-2", 8081, "10.0.0.1"),
		sliceOf("prod", "direct", "direct-1", 8080, "10.0.0.3"),
		sliceOf("prod", "other", "other-1", 8080, "10.0.0.4"),
		sliceOf("test", "shop", "shop-1", 8080, "10.0.0.5"),
	)
}

// The port of the Service leads to those of its instances; other Services and namespaces
// have no part in it.
func TestOf(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		namespace, service string
		port               int
		want               string
	}{
		"a port":            {"prod", "shop", 80, "http://10.0.0.1:8081/metrics http://10.0.0.2:8080/metrics"},
		"another port":      {"prod", "shop", 81, "http://10.0.0.1:9/metrics http://10.0.0.2:9/metrics"},
		"headless":          {"prod", "direct", 8080, "http://10.0.0.3:8080/metrics"},
		"another namespace": {"test", "shop", 80, "http://10.0.0.5:8080/metrics"},
	} {
		urls, err := endpoints.Of(cluster(), c.namespace, c.service, c.port).URLs(t.Context())
		if got := strings.Join(urls, " "); err != nil || got != c.want {
			t.Errorf("%s: %s, %v, want %s", name, got, err, c.want)
		}
	}
}

func TestOfFollowsTheCluster(t *testing.T) {
	t.Parallel()
	client := cluster()
	list := endpoints.Of(client, "prod", "shop", 80).URLs
	all := client.DiscoveryV1().EndpointSlices("prod")
	if err := all.Delete(t.Context(), "shop-1", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if urls, err := list(t.Context()); err != nil || !slices.Equal(urls, []string{"http://10.0.0.1:8081/metrics"}) {
		t.Errorf("%q, %v after an instance ended", urls, err)
	}
	if err := all.Delete(t.Context(), "shop-2", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if urls, err := list(t.Context()); err != nil || len(urls) != 0 {
		t.Errorf("%q, %v after all instances ended", urls, err)
	}
	if _, err := all.Create(t.Context(), sliceOf("prod", "shop", "shop-3", 80, "10.0.0.9"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if urls, err := list(t.Context()); err != nil || !slices.Equal(urls, []string{"http://10.0.0.9:80/metrics"}) {
		t.Errorf("%q, %v after one began", urls, err)
	}
}

func TestOfErrors(t *testing.T) {
	t.Parallel()
	forbid := func(verb, resource string) *fake.Clients {
		client := cluster()
		client.PrependReactor(verb, resource, func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", errors.New("no right"))
		})
		return client
	}
	for name, c := range map[string]struct {
		client        *fake.Clients
		service       string
		port          int
		problem, hint string
	}{
		"no such Service": {cluster(), "zebra", 80, `list the instances of service prod/zebra: services "zebra" not found`, ""},
		"no such port":    {cluster(), "shop", 8080, "service prod/shop has no TCP port 8080", "name one of its ports in the target's URL: 81, 80"},
		"another name":    {cluster(), "alias", 80, "list the instances of service prod/alias: it is of type ExternalName", ""},
		"UDP only":        {cluster(), "udp", 53, "service prod/udp has no TCP port 53", ""},
		"no right to get": {forbid("get", "services"), "shop", 80, "no right", "allow the account to get services: assay kubernetes rbac --kubernetes-namespace NAMESPACE --target-namespace prod | kubectl apply -f -, with the namespace of the runs"},
		"no right to list": {
			forbid("list", "endpointslices"), "shop", 80, "no right",
			"allow the account to list endpointslices.discovery.k8s.io: assay kubernetes rbac --kubernetes-namespace NAMESPACE --target-namespace prod | kubectl apply -f -, with the namespace of the runs",
		},
	} {
		urls, err := endpoints.Of(c.client, "prod", c.service, c.port).URLs(t.Context())
		if err == nil || !strings.Contains(err.Error(), c.problem) || strings.Contains(err.Error(), "\n") || hint.Of(err) != c.hint || urls != nil {
			t.Errorf("%s: %q, %v, hint %q", name, urls, err, hint.Of(err))
		}
		if errors.Is(err, endpoints.ErrExternal) != (c.service == "alias") {
			t.Errorf("%s: %v", name, err)
		}
		if apierrors.IsNotFound(err) != (c.service == "zebra") {
			t.Errorf("%s: not found: %t", name, apierrors.IsNotFound(err))
		}
	}
}
