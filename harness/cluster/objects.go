package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"assay/harness/hint"
)

// resources are the kinds of objects that are created, by the names of their resources.
var resources = map[schema.GroupVersionKind]string{
	corev1.SchemeGroupVersion.WithKind("Secret"):              "secrets",
	corev1.SchemeGroupVersion.WithKind("ConfigMap"):           "configmaps",
	batchv1.SchemeGroupVersion.WithKind("Job"):                "jobs",
	networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"): "networkpolicies",
	{Group: "k6.io", Version: "v1alpha1", Kind: "TestRun"}:    "testruns",
}

// NameOf is an object's name in its namespace.
func NameOf(o runtime.Object) string {
	m, err := meta.Accessor(o)
	if err != nil {
		return ""
	}
	return m.GetName()
}

// text is an object as messages name it: "job/shop".
func text(o runtime.Object) string {
	return strings.ToLower(o.GetObjectKind().GroupVersionKind().Kind) + "/" + NameOf(o)
}

// annotationAttempt tells the objects of one call of Create from those of another.
const annotationAttempt = "assay/created-by"

// Create creates an object with an owner, with which the cluster removes it; nil: none.
// It returns a reference to the object, for what it owns.
func (c *Cluster) Create(ctx context.Context, o runtime.Object, owner *metav1.OwnerReference) (*metav1.OwnerReference, error) {
	kind := o.GetObjectKind().GroupVersionKind()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", text(o), err)
	}
	u := &unstructured.Unstructured{Object: content}
	delete(u.Object, "status")
	u.SetAnnotations(map[string]string{annotationAttempt: rand.Text()})
	if owner != nil {
		u.SetOwnerReferences([]metav1.OwnerReference{*owner})
	}
	client := c.Dynamic.Resource(kind.GroupVersion().WithResource(resources[kind])).Namespace(c.Namespace)
	var created *unstructured.Unstructured
	again := false
	err = c.Retry(ctx, func() (err error) {
		created, err = client.Create(ctx, u, metav1.CreateOptions{FieldManager: "assay", FieldValidation: metav1.FieldValidationStrict})
		if apierrors.IsAlreadyExists(err) && again { // created before, and the answer was lost?
			if found, e := client.Get(ctx, u.GetName(), metav1.GetOptions{}); e == nil && found.GetAnnotations()[annotationAttempt] == u.GetAnnotations()[annotationAttempt] {
				created, err = found, nil
			}
		}
		again = true
		return err
	})
	if err != nil {
		return nil, c.Explain("create "+text(o), err)
	}
	return &metav1.OwnerReference{APIVersion: created.GetAPIVersion(), Kind: created.GetKind(), Name: created.GetName(), UID: created.GetUID()}, nil
}

// Remove deletes an object and all that it owns, and returns when they are gone or ctx
// is done. An object that is not there is no error, and neither is one of the same name
// that is another.
func (c *Cluster) Remove(ctx context.Context, o metav1.OwnerReference) error {
	kind := schema.FromAPIVersionAndKind(o.APIVersion, o.Kind)
	client := c.Dynamic.Resource(kind.GroupVersion().WithResource(resources[kind])).Namespace(c.Namespace)
	what := strings.ToLower(o.Kind) + "/" + o.Name
	// In the foreground: the object is there until all that it owns is gone.
	foreground := metav1.DeletePropagationForeground
	for asked := false; ; {
		err := c.Retry(ctx, func() error {
			if !asked {
				return client.Delete(ctx, o.Name, metav1.DeleteOptions{PropagationPolicy: &foreground, Preconditions: &metav1.Preconditions{UID: &o.UID}})
			}
			found, err := client.Get(ctx, o.Name, metav1.GetOptions{})
			if err == nil && found.GetUID() != o.UID {
				return apierrors.NewNotFound(schema.GroupResource{}, o.Name)
			}
			return err
		})
		asked = true
		switch {
		case apierrors.IsNotFound(err) || apierrors.IsConflict(err):
			return nil
		case err != nil:
			return hint.With(c.Explain("remove "+what, err), fmt.Sprintf("kubectl delete --namespace %s %s", c.Namespace, what))
		}
		select {
		case <-ctx.Done():
			return hint.With(fmt.Errorf("remove %s: it is still being deleted: %w", what, context.Cause(ctx)), fmt.Sprintf("kubectl get pods --namespace %s", c.Namespace))
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// AwaitGone returns when no pod of a run is left, whose owners were removed, or ctx is
// done.
func (c *Cluster) AwaitGone(ctx context.Context, name string) error {
	for {
		left := -1
		err := c.Retry(ctx, func() error {
			all, err := c.CoreV1().Pods(c.Namespace).List(ctx, metav1.ListOptions{LabelSelector: labelInstance + "=" + name})
			if err == nil {
				left = len(all.Items)
			}
			return err
		})
		switch {
		case err != nil:
			return c.Explain("list the pods of "+name, err)
		case left == 0:
			return nil
		}
		select {
		case <-ctx.Done():
			return hint.With(fmt.Errorf("%d pods of %s are left in namespace %s: %w", left, name, c.Namespace, context.Cause(ctx)),
				fmt.Sprintf("kubectl get pods --namespace %s --selector %s=%s", c.Namespace, labelInstance, name))
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// retryEvery is the pause between requests to an API server that does not answer.
const retryEvery = 500 * time.Millisecond

// How long requests are repeated (ours).
const (
	// awayFor covers the restart of an API server, or the change to another one.
	awayFor = time.Minute
	// ForbiddenFor covers an API server that has just started, and refuses all requests
	// until it has read the Roles.
	ForbiddenFor = 10 * time.Second
)

// Retry repeats a request while the API server does not answer, until ctx is done. The
// first request is not repeated: an address that is wrong is to be noticed at once.
func (c *Cluster) Retry(ctx context.Context, request func() error) error {
	began := time.Now()
	for {
		err := request()
		tried := time.Since(began)
		switch {
		case err == nil:
			c.reached.Store(true)
			return nil
		case !c.reached.Load(), !away(err) && !apierrors.IsForbidden(err), tried > awayFor, apierrors.IsForbidden(err) && tried > ForbiddenFor:
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(retryEvery):
		}
	}
}

// away reports whether the API server did not answer, or only that it cannot now.
func away(err error) bool {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err)
	}
	return utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err) || utilnet.IsTimeout(err) || utilnet.IsProbableEOF(err)
}

// Explain says what the API server refused, with the next step.
func (c *Cluster) Explain(what string, err error) error {
	err = fmt.Errorf("%s in namespace %s: %w", what, c.Namespace, err)
	switch {
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "cannot"):
		return hint.With(err, fmt.Sprintf("an administrator grants what is needed with: assay kubernetes rbac --kubernetes-namespace %s | kubectl apply -f -", c.Namespace))
	case apierrors.IsAlreadyExists(err):
		return hint.With(err, "another run of this name is in progress, or its objects were left: wait for it, or choose another name: --kubernetes-name")
	case apierrors.IsUnauthorized(err):
		return hint.With(err, "log in to the cluster again: kubectl auth whoami")
	}
	return err
}
