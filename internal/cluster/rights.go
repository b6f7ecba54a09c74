package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"assay.dev/assay/internal/hint"
)

// endRun is what brings the record of a run in the cluster back, and removes its objects.
var endRun = slices.Concat(startCoordinator, []rbacv1.PolicyRule{
	rule("", "pods", "list"),
	rule("batch", "jobs", "get", "delete"),
})

// CheckEndRights fails if this account may not do what ends a run in the cluster: without the
// check, that would be known only after the load. A cluster that does not say is no error.
func (c *Cluster) CheckEndRights(ctx context.Context) error {
	for _, r := range endRun {
		for _, verb := range r.Verbs {
			if c.mayNot(ctx, verb, r.APIGroups[0], r.Resources[0]) {
				user := c.user(ctx)
				return hint.With(fmt.Errorf("%s may not %s %s in namespace %s", user, verb, r.Resources[0], c.Namespace), c.grant(user))
			}
		}
	}
	return nil
}

// mayNot reports whether the cluster says that this account lacks a right.
func (c *Cluster) mayNot(ctx context.Context, verb, group, resource string) bool {
	resource, sub, _ := strings.Cut(resource, "/")
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: c.Namespace, Verb: verb, Group: group, Resource: resource, Subresource: sub},
	}}
	var answer *authorizationv1.SelfSubjectAccessReview
	err := c.Retry(ctx, func(ctx context.Context) (err error) {
		answer, err = c.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		return err
	})
	return err == nil && !answer.Status.Allowed
}

// user is the name of this account, as far as the cluster says it.
func (c *Cluster) user(ctx context.Context) string {
	answer, err := c.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil || answer.Status.UserInfo.Username == "" {
		return "this account"
	}
	return answer.Status.UserInfo.Username
}
