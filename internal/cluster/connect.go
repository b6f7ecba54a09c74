package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"assay.dev/assay/internal/cluster/client"
	"assay.dev/assay/internal/crash"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/mask"
)

// Options says which cluster, and where in it. Empty values are those of kubectl.
type Options struct {
	Kubeconfig string // file; empty: KUBECONFIG or ~/.kube/config, or else this pod's service account
	Context    string // context of the file
	Namespace  string // empty: that of the context or of this pod
}

// Cluster is a namespace of a cluster.
type Cluster struct {
	client.Interface
	Dynamic   dynamic.Interface // for kinds that client-go has no types of
	Config    *rest.Config
	Namespace string

	lastAway atomic.Int64 // when the API server did not answer last, ns since 1970; 0: it always did
}

// Requests per second that this program makes at most, and in a burst. The client's
// defaults, 5 and 10, would delay the start of a fleet.
const (
	requestsPerSecond = 50
	requestsInBurst   = 100
)

// Connect makes the clients. It sends no request.
func Connect(o Options) (*Cluster, error) {
	// The client library logs what its callers handle.
	klog.SetLogger(logr.Discard())
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.Kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: o.Context}
	overrides.Context.Namespace = o.Namespace
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
	registerSecrets(loader)
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, notFound(loader, o, err)
	}
	mask.Add(config.BearerToken) // token of a pod
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, fmt.Errorf("find the namespace: %w", err)
	}
	config.QPS, config.Burst = requestsPerSecond, requestsInBurst
	config.UserAgent = "assay"
	config.DisableCompression = true // or bound would count bytes before they expand
	config.Wrap(bound)
	// A panic at an object of a watch, in a goroutine of the library, ends the command in order.
	utilruntime.ReallyCrash = false
	utilruntime.PanicHandlers = []func(context.Context, any){func(_ context.Context, left any) { crash.Take(left) }}
	c := &Cluster{Config: config, Namespace: namespace}
	if c.Interface, err = client.New(config); err != nil {
		return nil, fmt.Errorf("connect to the Kubernetes cluster: %w", err)
	}
	if c.Dynamic, err = dynamic.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("connect to the Kubernetes cluster: %w", err)
	}
	return c, nil
}

// registerSecrets registers the secrets of the configuration, which errors may quote.
func registerSecrets(loader clientcmd.ClientConfig) {
	all, _ := loader.RawConfig() // its error is that of ClientConfig too
	for _, c := range all.Clusters {
		mask.AddDSN(c.Server)
		mask.AddDSN(c.ProxyURL)
	}
	for _, u := range all.AuthInfos {
		mask.Add(u.Token, u.Password)
	}
}

// maxAnswer bounds an answer of the API server (ours); a list of 10,000 pods has 100 MB.
const maxAnswer = 256 << 20

// bound limits the answers that are read as a whole: not logs, watches and connections.
func bound(next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(req *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(req)
		endless := req.URL.Query().Has("watch") || req.URL.Query().Has("follow")
		if err == nil && resp.StatusCode != http.StatusSwitchingProtocols && !endless {
			resp.Body = http.MaxBytesReader(nil, resp.Body, maxAnswer)
		}
		return resp, err
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// notFound is the error of a cluster that no configuration leads to.
func notFound(loader clientcmd.ClientConfig, o Options, err error) error {
	next := "set KUBECONFIG to the file with which kubectl reaches it, and choose a context: --kubernetes-context"
	all, unread := loader.RawConfig()
	name := cmp.Or(o.Context, all.CurrentContext)
	context := all.Contexts[name]
	switch {
	case unread != nil || len(all.Contexts) == 0:
		if clientcmd.IsEmptyConfig(err) {
			err = errors.New("there is no kubeconfig file, and this is no pod")
		}
	case context == nil:
		next = "the contexts are: " + strings.Join(slices.Sorted(maps.Keys(all.Contexts)), ", ")
	case all.Clusters[context.Cluster] == nil:
		err = fmt.Errorf("context %q names cluster %q, which the kubeconfig file does not have", name, context.Cluster)
	}
	return hint.With(oneLine(fmt.Errorf("find the Kubernetes cluster: %w", err)), next)
}

// Inside reports whether this process runs in a pod.
func Inside() bool { return os.Getenv("KUBERNETES_SERVICE_HOST") != "" }
