package endpoints

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"assay/harness/hint"
)

// metricsPath is where instances expose their metrics.
const metricsPath = "/metrics"

// Of returns a function that lists the URLs of the metrics of all instances of a Service,
// such as http://10.1.2.3:8080/metrics: of their ports to which servicePort, the port of the
// Service, leads. It returns none if no instance is ready.
//
// Its error says what is missing: the Service (apierrors.IsNotFound holds), its port, or a
// right of the client's account.
func Of(client kubernetes.Interface, namespace, service string, servicePort int) func(ctx context.Context) ([]string, error) {
	return func(ctx context.Context) ([]string, error) {
		s, err := client.CoreV1().Services(namespace).Get(ctx, service, metav1.GetOptions{})
		if err != nil {
			return nil, explain(err, namespace, service, "get services")
		}
		port, err := portOf(s, servicePort)
		if err != nil {
			return nil, err
		}
		selector := labels.Set{discoveryv1.LabelServiceName: service}.String()
		all, err := client.DiscoveryV1().EndpointSlices(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
		if err != nil {
			return nil, explain(err, namespace, service, "list endpointslices.discovery.k8s.io")
		}
		return URLs(all.Items, port, metricsPath), nil
	}
}

// explain adds to an error of the cluster what was read, and which right may be missing.
func explain(err error, namespace, service, right string) error {
	wrapped := fmt.Errorf("list the instances of service %s/%s: %w", namespace, service, err)
	if apierrors.IsForbidden(err) {
		return hint.With(wrapped, fmt.Sprintf("allow the account to %s in namespace %s", right, namespace))
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
