package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/hint"
)

const (
	// requestTimeout bounds a request: a server may accept connections and answer nothing
	// (ours).
	requestTimeout = 15 * time.Second
	// retryEvery is the pause between requests to an API server that does not answer.
	retryEvery = 500 * time.Millisecond
	// pollEvery is the pause between two looks at what is being removed.
	pollEvery = 200 * time.Millisecond
	// retryFor is how long an API server may be away (ours): a minute covers the restart of
	// one, or the change to another one.
	retryFor = time.Minute
	// startingFor is how long an API server that answers again may refuse all requests
	// (ours; measured: 1 to 2 s).
	startingFor = 15 * time.Second
)

// Reach fails if the API server does not answer. Before anything depends on it, it is
// asked once: its address may be wrong. Only in a pod, whose network may take some seconds
// to be there, the request is repeated.
func (c *Cluster) Reach(ctx context.Context) error {
	ask := func(ctx context.Context) error {
		return c.Discovery().RESTClient().Get().AbsPath("/version").Do(ctx).Error()
	}
	var err error
	if Inside() {
		err = c.Retry(ctx, ask)
	} else {
		err = once(ctx, ask)
	}
	var status apierrors.APIStatus
	switch {
	case err == nil || apierrors.IsForbidden(err): // an answer
		return nil
	case errors.As(err, &status):
		return c.Explain("ask the Kubernetes cluster for its version", err)
	}
	var request *url.Error
	if errors.As(err, &request) {
		err = request.Err
	}
	return hint.With(oneLine(fmt.Errorf("the Kubernetes cluster at %s cannot be reached: %w", c.Config.Host, err)),
		"see whether kubectl reaches it: kubectl version; for another cluster: --kubernetes-context")
}

// Retry repeats a request while the API server does not answer, for at most retryFor, and
// until ctx is done; also one that is forbidden soon after the server was away.
func (c *Cluster) Retry(ctx context.Context, request func(context.Context) error) error {
	for began := time.Now(); ; {
		err := once(ctx, request)
		if err == nil || !c.temporary(err) || time.Since(began) > retryFor || Pause(ctx, retryEvery) != nil {
			return err
		}
	}
}

// Pause waits before the cluster is asked again. It fails when ctx is done.
func Pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

func once(ctx context.Context, request func(context.Context) error) (err error) {
	defer foreign.Guard(&err) // catches a panic of the client library, which decodes the answer
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return request(ctx)
}

// away reports whether the API server did not answer, or only that it cannot now.
func away(err error) bool {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err)
	}
	var connection *net.OpError // refused, reset, no route, no such host, ...
	return errors.As(err, &connection) || utilnet.IsTimeout(err) || utilnet.IsProbableEOF(err) || utilnet.IsHTTP2ConnectionLost(err)
}

// temporary reports whether the API server did not answer, or refuses all requests because
// it has just started and not read the Roles yet.
func (c *Cluster) temporary(err error) bool {
	if away(err) {
		c.lastAway.Store(time.Now().UnixNano())
		return true
	}
	return apierrors.IsForbidden(err) && time.Since(time.Unix(0, c.lastAway.Load())) < startingFor
}

// Lasting is the error of a request that will fail again; nil for one that may succeed
// later, as when a container has not started yet.
func (c *Cluster) Lasting(err error) error {
	if !c.temporary(err) && (apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err)) {
		return err
	}
	return nil
}

// Explain says what the API server refused, with the next step.
func (c *Cluster) Explain(what string, err error) error {
	var of metav1.StatusDetails
	if status := apierrors.APIStatus(nil); errors.As(err, &status) && status.Status().Details != nil {
		of = *status.Status().Details
	}
	next := ""
	switch {
	case apierrors.IsForbidden(err):
		next = c.missingRights(of.Group, of.Kind)
	case apierrors.IsAlreadyExists(err):
		next = fmt.Sprintf("another run of this name is in progress, or its objects were left: wait for it; or choose another name: --kubernetes-name; or remove it: kubectl delete --namespace %s %s",
			c.Namespace, strings.TrimPrefix(what, "create "))
	case apierrors.IsUnauthorized(err):
		next = "log in to the cluster again: kubectl auth whoami"
	case apierrors.IsNotFound(err) && of.Kind == "namespaces":
		next = fmt.Sprintf("make it: kubectl create namespace %s; or name another: --kubernetes-namespace", c.Namespace)
	case apierrors.IsNotFound(err) && strings.HasPrefix(what, "create testrun/"): // without its definition, the answer names no kind
		next = "install the k6-operator, or use --engine kubernetes"
	case apierrors.IsInvalid(err) || apierrors.IsBadRequest(err):
		next = "see the manifests: --dry-run; what changes them: --kubernetes-patch"
	}
	return hint.With(oneLine(fmt.Errorf("%s in namespace %s: %w", what, c.Namespace, err)), next)
}

// oneLine is an error as one line: admission controllers and credential plugins write
// paragraphs, with the reason at their end.
func oneLine(err error) error { return line{err} }

type line struct{ error }

func (l line) Error() string { return strings.Join(strings.Fields(l.error.Error()), " ") }
func (l line) Unwrap() error { return l.error }
