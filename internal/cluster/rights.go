package cluster

import (
	"cmp"
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
	verb, resource := c.lacks(ctx, endRun)
	if verb == "" {
		return nil
	}
	user := c.user(ctx)
	return hint.With(fmt.Errorf("%s may not %s %s in namespace %s", cmp.Or(user, "this account"), verb, resource, c.Namespace), c.grant(user))
}

// missingRights is the hint how this account gets the rights that runs need on a kind of
// objects, of which a request was forbidden; empty: it has them. Then a quota or an admission
// policy has refused the request, and no field of the answer tells that from a missing right.
func (c *Cluster) missingRights(group, resource string) string {
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	rules := slices.DeleteFunc(slices.Concat(startWorkers, startCoordinator), func(r rbacv1.PolicyRule) bool {
		of, _, _ := strings.Cut(r.Resources[0], "/")
		return r.APIGroups[0] != group || of != resource
	})
	if verb, _ := c.lacks(ctx, rules); verb == "" {
		return ""
	}
	return c.grant(c.user(ctx))
}

// lacks is the first right of the rules that the cluster says this account does not have;
// empty: none.
func (c *Cluster) lacks(ctx context.Context, rules []rbacv1.PolicyRule) (verb, resource string) {
	for _, r := range rules {
		resource, sub, _ := strings.Cut(r.Resources[0], "/")
		for _, verb := range r.Verbs {
			review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
				ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: c.Namespace, Verb: verb, Group: r.APIGroups[0], Resource: resource, Subresource: sub},
			}}
			var answer *authorizationv1.SelfSubjectAccessReview
			err := c.Retry(ctx, func(ctx context.Context) (err error) {
				answer, err = c.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
				return err
			})
			if err == nil && !answer.Status.Allowed {
				return verb, r.Resources[0]
			}
		}
	}
	return "", ""
}

// user is the name of this account; empty: the cluster does not say.
func (c *Cluster) user(ctx context.Context) string {
	answer, err := c.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return ""
	}
	return answer.Status.UserInfo.Username
}

// grant is the hint how a user gets the rights that runs need.
func (c *Cluster) grant(user string) string {
	subject := "user:" + cmp.Or(user, "NAME")
	if account, ok := strings.CutPrefix(user, "system:serviceaccount:"+c.Namespace+":"); ok {
		subject = "serviceaccount:" + account
	}
	return fmt.Sprintf("an administrator grants what is needed with: assay kubernetes rbac --kubernetes-namespace %s --subject %s | kubectl apply -f -", c.Namespace, subject)
}
