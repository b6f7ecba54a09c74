package cluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

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

// CoordinatorAccount is the service account of coordinators, and the name of its Role.
const CoordinatorAccount = "assay-coordinator"

// starterRole is the name of the Role of who starts runs.
const starterRole = "assay"

// targetRole is the name of the coordinators' Role in the target's namespace.
const targetRole = "assay-target"

// startWorkers is what the engine needs: a coordinator in the cluster or outside.
var startWorkers = []rbacv1.PolicyRule{
	rule("batch", "jobs", "create", "get", "patch", "delete"),
	rule("k6.io", "testruns", "create", "get", "delete"),
	rule("", "secrets", "create", "get", "delete"),
	rule("", "configmaps", "create", "get", "delete"),
	rule("networking.k8s.io", "networkpolicies", "create", "get", "delete"),
	rule("", "pods", "get", "list", "watch", "delete", "deletecollection"),
	rule("", "events", "list"),
}

// findPods is what the coordinator needs to read the metrics of each pod of the service.
var findPods = []rbacv1.PolicyRule{
	rule("", "services", "get"),
	rule("discovery.k8s.io", "endpointslices", "list"),
}

// startCoordinator is what a coordinator in the cluster needs in addition from who starts
// it.
var startCoordinator = []rbacv1.PolicyRule{
	rule("", "pods/log", "get"),
	rule("", "pods/exec", "create", "get"),
}

func rule(group, resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
}

// RBAC are the service account of coordinators, its Role, and the Role of who starts
// runs, all in one namespace, and a Role in that of the target, if it is another. subject
// is "user:NAME", "group:NAME" or "serviceaccount:NAME" of the namespace; the last one is
// created too.
func RBAC(namespace, target, subject string) ([]runtime.Object, error) {
	kind, name, _ := strings.Cut(subject, ":")
	who := rbacv1.Subject{APIGroup: rbacv1.GroupName, Name: name}
	all := []runtime.Object{account(namespace, CoordinatorAccount)}
	switch kind {
	case "user":
		who.Kind = rbacv1.UserKind
	case "group":
		who.Kind = rbacv1.GroupKind
	case "serviceaccount":
		who = rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Name: name, Namespace: namespace}
		all = append(all, account(namespace, name))
	}
	if who.Kind == "" || name == "" {
		return nil, fmt.Errorf("--subject is %q: it must be user:NAME, group:NAME or serviceaccount:NAME", subject)
	}
	coordinator := rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Name: CoordinatorAccount, Namespace: namespace}
	own := startWorkers
	if target == "" || target == namespace {
		own = slices.Concat(startWorkers, findPods)
	} else {
		// Several namespaces of runs may have the same target.
		all = append(all, role(target, targetRole, findPods), binding(target, targetRole+"-"+namespace, targetRole, coordinator))
	}
	return append(
		all,
		role(namespace, CoordinatorAccount, own), binding(namespace, CoordinatorAccount, CoordinatorAccount, coordinator),
		role(namespace, starterRole, slices.Concat(startWorkers, startCoordinator)), binding(namespace, starterRole, starterRole, who),
	), nil
}

func account(namespace, name string) *corev1.ServiceAccount {
	return &corev1.ServiceAccount{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
	}
}

func role(namespace, name string, rules []rbacv1.PolicyRule) *rbacv1.Role {
	return &rbacv1.Role{
		TypeMeta:   metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "Role"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}, Rules: rules,
	}
}

func binding(namespace, name, role string, who rbacv1.Subject) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "RoleBinding"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Subjects:   []rbacv1.Subject{who}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role},
	}
}
