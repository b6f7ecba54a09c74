package cluster

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"assay.dev/assay/internal/hint"
)

// objects are those of a kind in the namespace.
func (c *Cluster) objects(kind schema.GroupVersionKind) dynamic.ResourceInterface {
	resource, _ := meta.UnsafeGuessKindToResource(kind)
	return c.Dynamic.Resource(resource).Namespace(c.Namespace)
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
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", text(o), err)
	}
	u := &unstructured.Unstructured{Object: content}
	delete(u.Object, "status")
	attempt, annotations := rand.Text(), map[string]string{}
	maps.Copy(annotations, u.GetAnnotations())
	annotations[annotationAttempt] = attempt
	u.SetAnnotations(annotations)
	if owner != nil {
		u.SetOwnerReferences([]metav1.OwnerReference{*owner})
	}
	client := c.objects(o.GetObjectKind().GroupVersionKind())
	var created *unstructured.Unstructured
	again := false
	err = c.Retry(ctx, func(ctx context.Context) (err error) {
		// An interrupt does not cut a request off: whether the object is there, and has to
		// be removed, would not be known.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
		defer cancel()
		created, err = client.Create(ctx, u, metav1.CreateOptions{FieldManager: "assay", FieldValidation: metav1.FieldValidationStrict})
		if apierrors.IsAlreadyExists(err) && again { // created before, and the answer was lost?
			switch found, e := client.Get(ctx, u.GetName(), metav1.GetOptions{}); {
			case e != nil && away(e):
				err = e
			case e == nil && found.GetAnnotations()[annotationAttempt] == attempt:
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
	client := c.objects(schema.FromAPIVersionAndKind(o.APIVersion, o.Kind))
	what := strings.ToLower(o.Kind) + "/" + o.Name
	// In the foreground: the object is there until all that it owns is gone.
	foreground := metav1.DeletePropagationForeground
	for asked := false; ; {
		err := c.Retry(ctx, func(ctx context.Context) error {
			if !asked {
				return client.Delete(ctx, o.Name, metav1.DeleteOptions{PropagationPolicy: &foreground, Preconditions: &metav1.Preconditions{UID: &o.UID}})
			}
			found, err := client.Get(ctx, o.Name, metav1.GetOptions{})
			if err == nil && found.GetUID() != o.UID {
				return apierrors.NewNotFound(schema.GroupResource{}, o.Name)
			}
			return err
		})
		asked = asked || err == nil
		switch {
		case apierrors.IsNotFound(err) || apierrors.IsConflict(err):
			return nil
		case err != nil && !(asked && ctx.Err() != nil):
			return hint.With(c.Explain("remove "+what, err), fmt.Sprintf("kubectl delete --namespace %s %s", c.Namespace, what))
		}
		if err := Pause(ctx, pollEvery); err != nil {
			return hint.With(fmt.Errorf("remove %s: it is still being deleted: %w", what, err), fmt.Sprintf("kubectl get pods --namespace %s", c.Namespace))
		}
	}
}

// ofRuns selects the objects of all runs of a name.
func ofRuns(name string) string {
	return labels.Set{labelInstance: name, labelManager: "assay"}.String()
}

// Pods are the pods of all runs of a name: also of earlier ones, if they are still ending.
func (c *Cluster) Pods(ctx context.Context, name string) (pods []types.UID, err error) {
	err = c.Retry(ctx, func(ctx context.Context) error {
		all, err := c.CoreV1().Pods(c.Namespace).List(ctx, metav1.ListOptions{LabelSelector: ofRuns(name)})
		pods = nil
		if err == nil {
			for _, p := range all.Items {
				pods = append(pods, p.UID)
			}
		}
		return err
	})
	if err != nil {
		return nil, c.Explain("list the pods of "+name, err)
	}
	return pods, nil
}

// AwaitGone waits until the pods of a run are gone, whose owners must have been removed
// before. It does not wait for the pods of earlier runs of the name, others.
func (c *Cluster) AwaitGone(ctx context.Context, name string, others []types.UID) error {
	for left := 0; ; {
		pods, err := c.Pods(ctx, name)
		if err == nil {
			left = len(slices.DeleteFunc(pods, func(p types.UID) bool { return slices.Contains(others, p) }))
		}
		switch {
		case err != nil && !(left > 0 && ctx.Err() != nil):
			return err
		case left == 0:
			return nil
		}
		if err := Pause(ctx, pollEvery); err != nil {
			return hint.With(fmt.Errorf("%d pods of %s are left in namespace %s: %w", left, name, c.Namespace, err),
				fmt.Sprintf("kubectl get pods --namespace %s --selector %s", c.Namespace, ofRuns(name)))
		}
	}
}
