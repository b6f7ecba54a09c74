package cluster

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

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
