package cluster_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"

	"assay.dev/assay/internal/cluster"
)

// printed prints objects, and reads what was printed as an API server does that refuses
// unknown fields.
func printed(t *testing.T, all []runtime.Object) (text string, read []runtime.Object) {
	t.Helper()
	var out bytes.Buffer
	if err := cluster.Print(&out, all); err != nil {
		t.Fatal(err)
	}
	text = out.String()
	strict := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	documents := yaml.NewYAMLReader(bufio.NewReader(&out))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return text, read
		}
		if err != nil {
			t.Fatal(err)
		}
		o, _, err := strict.Decode(document, nil, nil)
		if err != nil {
			t.Fatalf("%v:\n%s", err, document)
		}
		read = append(read, o)
	}
}

// The printed rights are Roles in the named namespaces, and nothing of the cluster.
func TestRBAC(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		target, subject string
		who             rbacv1.Subject
		names           []string // KIND NAMESPACE/NAME
	}{
		{
			"", "serviceaccount:ci",
			rbacv1.Subject{Kind: "ServiceAccount", Name: "ci", Namespace: "load"},
			[]string{
				"ServiceAccount load/assay-coordinator", "ServiceAccount load/ci", "Role load/assay-coordinator", "RoleBinding load/assay-coordinator",
				"Role load/assay", "RoleBinding load/assay",
			},
		},
		{
			"load", "user:ana@example.com",
			rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "User", Name: "ana@example.com"},
			[]string{
				"ServiceAccount load/assay-coordinator", "Role load/assay-coordinator", "RoleBinding load/assay-coordinator", "Role load/assay", "RoleBinding load/assay",
			},
		},
		{
			"prod", "group:oidc:sre",
			rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "oidc:sre"},
			[]string{
				"ServiceAccount load/assay-coordinator", "Role prod/assay-target", "RoleBinding prod/assay-target-load",
				"Role load/assay-coordinator", "RoleBinding load/assay-coordinator", "Role load/assay", "RoleBinding load/assay",
			},
		},
	} {
		all, err := cluster.RBAC("load", c.target, c.subject)
		if err != nil {
			t.Fatal(err)
		}
		_, read := printed(t, all)
		var names []string
		roles, bound := map[string][]rbacv1.PolicyRule{}, map[string]rbacv1.Subject{}
		for _, o := range read {
			m, err := meta.Accessor(o)
			if err != nil {
				t.Fatal(err)
			}
			name := m.GetNamespace() + "/" + m.GetName()
			names = append(names, o.GetObjectKind().GroupVersionKind().Kind+" "+name)
			switch o := o.(type) {
			case *rbacv1.Role:
				roles[name] = o.Rules
			case *rbacv1.RoleBinding:
				if o.RoleRef.Kind != "Role" || len(o.Subjects) != 1 || roles[m.GetNamespace()+"/"+o.RoleRef.Name] == nil {
					t.Errorf("%s binds %+v to %+v", name, o.Subjects, o.RoleRef)
				}
				bound[name] = o.Subjects[0]
			}
		}
		if !slices.Equal(names, c.names) {
			t.Errorf("%s, %s: %q, want %q", c.target, c.subject, names, c.names)
		}
		coordinator := rbacv1.Subject{Kind: "ServiceAccount", Name: "assay-coordinator", Namespace: "load"}
		for name, who := range bound {
			want := coordinator
			if name == "load/assay" {
				want = c.who
			}
			if who != want {
				t.Errorf("%s is bound to %+v, want %+v", name, who, want)
			}
		}
		for name, rules := range roles {
			for _, r := range rules {
				if slices.Contains(slices.Concat(r.APIGroups, r.Resources, r.Verbs), "*") || len(r.NonResourceURLs) > 0 {
					t.Errorf("%s grants too much: %+v", name, r)
				}
			}
			findsPods := slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.Resources, "endpointslices") })
			inTarget := c.target == "prod"
			if want := name == "prod/assay-target" || name == "load/assay-coordinator" && !inTarget; findsPods != want {
				t.Errorf("%s, %s: %s lists the pods of services: %t", c.target, c.subject, name, findsPods)
			}
		}
	}
	for _, subject := range []string{"", "ana", "user:", "robot:ana", ":ana", "User:ana"} {
		if _, err := cluster.RBAC("load", "", subject); err == nil || !strings.Contains(err.Error(), "it must be user:NAME, group:NAME or serviceaccount:NAME") {
			t.Errorf("%q: %v", subject, err)
		}
	}
}

// What a Secret holds is not printed, and not changed.
func TestPrintHidesSecrets(t *testing.T) {
	t.Parallel()
	s := secret()
	s.StringData, s.Data = map[string]string{"dsn": "hunter2"}, map[string][]byte{"token": []byte("hunter2")}
	text, read := printed(t, []runtime.Object{s})
	got := read[0].(*corev1.Secret)
	if strings.Contains(text, "hunter2") || strings.Contains(text, "aHVudGVyMg") || len(got.Data) > 0 || got.StringData["dsn"] != "(not shown)" || got.StringData["token"] != "(not shown)" {
		t.Errorf("printed:\n%s", text)
	}
	if s.StringData["dsn"] != "hunter2" || string(s.Data["token"]) != "hunter2" {
		t.Error("the Secret itself was changed")
	}
}
