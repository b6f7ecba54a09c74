package endpoints

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"assay.dev/assay/internal/cluster/client"
	"assay.dev/assay/internal/hint"
)

// metricsPath is where instances expose their metrics.
const metricsPath = "/metrics"

// Service is a Service of a cluster.
type Service struct {
	client          client.Interface
	namespace, name string
	port            int
}

// Of is the Service of that name. port is the one of its ports that leads to the service.
func Of(client client.Interface, namespace, name string, port int) *Service {
	return &Service{client, namespace, name, port}
}

// ErrExternal is the error of a Service that is another name of a host: its instances are
// not known to the cluster.
var ErrExternal = errors.New("it is of type ExternalName")

// String is NAMESPACE/NAME.
func (s *Service) String() string { return s.namespace + "/" + s.name }

// URLs lists the URLs of the metrics of all instances, such as
// http://10.1.2.3:8080/metrics: of their ports to which the Service's port leads. There are
// none if no instance is ready.
//
// Its error says what is missing: the Service (apierrors.IsNotFound holds), its port, or a
// right of the client's account; or it is ErrExternal.
func (s *Service) URLs(ctx context.Context) ([]string, error) {
	found, err := s.client.CoreV1().Services(s.namespace).Get(ctx, s.name, metav1.GetOptions{})
	if err != nil {
		return nil, s.explain(err, "get services")
	}
	if found.Spec.Type == corev1.ServiceTypeExternalName {
		return nil, s.explain(ErrExternal, "")
	}
	port, err := portOf(found, s.port)
	if err != nil {
		return nil, err
	}
	all, err := s.slices(ctx)
	return URLs(all, port, metricsPath), err
}

// Nodes lists the names of the nodes that instances run on, as far as they are known.
func (s *Service) Nodes(ctx context.Context) ([]string, error) {
	all, err := s.slices(ctx)
	return Nodes(all), err
}

func (s *Service) slices(ctx context.Context) ([]discoveryv1.EndpointSlice, error) {
	selector := labels.Set{discoveryv1.LabelServiceName: s.name}.String()
	all, err := s.client.DiscoveryV1().EndpointSlices(s.namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, s.explain(err, "list endpointslices.discovery.k8s.io")
	}
	return all.Items, nil
}

// explain adds to an error of the cluster what was read, and which right may be missing.
func (s *Service) explain(err error, right string) error {
	wrapped := fmt.Errorf("list the instances of service %s: %w", s, err)
	if apierrors.IsForbidden(err) {
		return hint.With(wrapped, fmt.Sprintf("allow the account to %s: assay kubernetes rbac --kubernetes-namespace NAMESPACE --target-namespace %s | kubectl apply -f -, with the namespace of the runs", right, s.namespace))
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
