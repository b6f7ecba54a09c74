package cluster_test

import (
	"errors"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"assay.dev/assay/internal/cluster"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/testing/fake"
)

func TestCheckEndRights(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lacks string // "VERB RESOURCE"; empty: nothing
		fails error  // error of the question
		user  string // empty: the cluster does not say
		says  string
		next  string // part of the hint
	}{
		"all":                 {user: "ana"},
		"not exec":            {lacks: "create pods/exec", user: "ana", says: "ana may not create pods/exec in namespace load", next: "--subject user:ana "},
		"not delete":          {lacks: "delete jobs", user: "system:serviceaccount:load:ci", says: "system:serviceaccount:load:ci may not delete jobs in namespace load", next: "--subject serviceaccount:ci "},
		"not log":             {lacks: "get pods/log", says: "this account may not get pods/log in namespace load", next: "assay kubernetes rbac"},
		"it may not even ask": {lacks: "get pods/log", fails: errors.New("forbidden")},
	} {
		client := fake.New()
		client.PrependReactor("create", "selfsubjectaccessreviews", func(a clienttesting.Action) (bool, runtime.Object, error) {
			review := a.(clienttesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview).DeepCopy()
			asked := review.Spec.ResourceAttributes
			resource := asked.Resource
			if asked.Subresource != "" {
				resource += "/" + asked.Subresource
			}
			if asked.Namespace != "load" || (asked.Group == "batch") != (resource == "jobs") {
				t.Errorf("%s: asked %+v", name, asked)
			}
			review.Status.Allowed = asked.Verb+" "+resource != c.lacks
			return true, review, c.fails
		})
		client.PrependReactor("create", "selfsubjectreviews", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, &authenticationv1.SelfSubjectReview{Status: authenticationv1.SelfSubjectReviewStatus{UserInfo: authenticationv1.UserInfo{Username: c.user}}}, nil
		})
		err := (&cluster.Cluster{Interface: client, Namespace: "load"}).CheckEndRights(t.Context())
		if (err == nil) != (c.says == "") || err != nil && (err.Error() != c.says || !strings.Contains(hint.Of(err), c.next)) {
			t.Errorf("%s: %v (%s)", name, err, hint.Of(err))
		}
	}
}
