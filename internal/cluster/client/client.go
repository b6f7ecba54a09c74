package client

import (
	"cmp"
	"context"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	appsv1 "k8s.io/client-go/kubernetes/typed/apps/v1"
	authenticationv1 "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationv1 "k8s.io/client-go/kubernetes/typed/authorization/v1"
	batchv1 "k8s.io/client-go/kubernetes/typed/batch/v1"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	discoveryv1 "k8s.io/client-go/kubernetes/typed/discovery/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/flowcontrol"
)

// Interface has a client for each group of the API, named as in client-go.
type Interface interface {
	Discovery() discovery.DiscoveryInterface
	AppsV1() appsv1.AppsV1Interface
	AuthenticationV1() authenticationv1.AuthenticationV1Interface
	AuthorizationV1() authorizationv1.AuthorizationV1Interface
	BatchV1() batchv1.BatchV1Interface
	CoreV1() corev1.CoreV1Interface
	DiscoveryV1() discoveryv1.DiscoveryV1Interface
}

type clients struct {
	discovery      *discovery.DiscoveryClient
	apps           *appsv1.AppsV1Client
	authentication *authenticationv1.AuthenticationV1Client
	authorization  *authorizationv1.AuthorizationV1Client
	batch          *batchv1.BatchV1Client
	core           *corev1.CoreV1Client
	slices         *discoveryv1.DiscoveryV1Client
}

// New makes the clients, which share connections and the limit of requests per second.
func New(config *rest.Config) (Interface, error) {
	shared := *config
	if shared.RateLimiter == nil && shared.QPS > 0 {
		shared.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(shared.QPS, shared.Burst)
	}
	transport, err := rest.HTTPClientFor(&shared)
	if err != nil {
		return nil, err
	}
	c := &clients{}
	err = cmp.Or( // a bad configuration is the same error to all
		set(&c.discovery, discovery.NewDiscoveryClientForConfigAndClient, &shared, transport),
		set(&c.apps, appsv1.NewForConfigAndClient, &shared, transport),
		set(&c.authentication, authenticationv1.NewForConfigAndClient, &shared, transport),
		set(&c.authorization, authorizationv1.NewForConfigAndClient, &shared, transport),
		set(&c.batch, batchv1.NewForConfigAndClient, &shared, transport),
		set(&c.core, corev1.NewForConfigAndClient, &shared, transport),
		set(&c.slices, discoveryv1.NewForConfigAndClient, &shared, transport),
	)
	if err != nil {
		return nil, err
	}
	return c, nil
}

func set[C any](into **C, create func(*rest.Config, *http.Client) (*C, error), config *rest.Config, transport *http.Client) (err error) {
	*into, err = create(config, transport)
	return err
}

func (c *clients) Discovery() discovery.DiscoveryInterface       { return c.discovery }
func (c *clients) AppsV1() appsv1.AppsV1Interface                { return c.apps }
func (c *clients) BatchV1() batchv1.BatchV1Interface             { return c.batch }
func (c *clients) CoreV1() corev1.CoreV1Interface                { return c.core }
func (c *clients) DiscoveryV1() discoveryv1.DiscoveryV1Interface { return c.slices }

func (c *clients) AuthenticationV1() authenticationv1.AuthenticationV1Interface {
	return c.authentication
}

func (c *clients) AuthorizationV1() authorizationv1.AuthorizationV1Interface {
	return c.authorization
}

// resource is a client of one kind of objects, such as CoreV1().Pods(namespace). Its lists
// are of type L.
type resource[L runtime.Object] interface {
	List(ctx context.Context, o metav1.ListOptions) (L, error)
	Watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error)
}

// Informer follows all objects of one kind that have these labels. It is indexed by
// namespace, for listers. c is the set of clients itself, which says whether it can list by
// watching: what embeds an Interface hides that.
func Informer[L runtime.Object](c Interface, r resource[L], kind runtime.Object, selector string) cache.SharedIndexInformer {
	return cache.NewSharedIndexInformer(cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.LabelSelector = selector
			return r.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.LabelSelector = selector
			return r.Watch(ctx, o)
		},
	}, c), kind, 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
}
