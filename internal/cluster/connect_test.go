package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"assay.dev/assay/internal/cluster"
	"assay.dev/assay/internal/cluster/client"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/mask"
)

// kubeconfig writes a file with two contexts: "one", the current one, of namespace shop,
// and "two", of no namespace.
func kubeconfig(t *testing.T, server string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := `{apiVersion: v1, kind: Config, current-context: one,
clusters: [{name: c, cluster: {server: "` + server + `"}}], users: [{name: u, user: {token: Zq7-bearer}}],
contexts: [{name: one, context: {cluster: c, user: u, namespace: shop}}, {name: two, context: {cluster: c, user: u}}, {name: lost, context: {cluster: gone, user: u}}]}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestConnect(t *testing.T) {
	file := kubeconfig(t, "https://127.0.0.1:1")
	t.Setenv("KUBECONFIG", file)
	for _, c := range []struct {
		options   cluster.Options
		namespace string
	}{
		{cluster.Options{}, "shop"},
		{cluster.Options{Kubeconfig: file}, "shop"},
		{cluster.Options{Context: "two"}, "default"},
		{cluster.Options{Context: "two", Namespace: "load"}, "load"},
		{cluster.Options{Namespace: "load"}, "load"},
	} {
		got, err := cluster.Connect(c.options)
		if err != nil || got.Namespace != c.namespace || got.Config.Host != "https://127.0.0.1:1" || !got.Config.DisableCompression {
			t.Errorf("%+v: %+v, %v", c.options, got, err)
		}
	}
	for _, c := range []struct {
		options    cluster.Options
		says, next string
	}{
		{cluster.Options{Context: "three"}, `context "three" does not exist`, "the contexts are: lost, one, two"},
		{cluster.Options{Context: "lost"}, `context "lost" names cluster "gone", which the kubeconfig file does not have`, "KUBECONFIG"},
		{cluster.Options{Kubeconfig: file + ".none"}, ".none: no such file or directory", "KUBECONFIG"},
		{cluster.Options{Kubeconfig: kubeconfig(t, "https://[::1")}, "connect to the Kubernetes cluster: ", ""},
		{cluster.Options{Kubeconfig: kubeconfig(t, "http://host:port")}, "connect to the Kubernetes cluster: ", ""},
	} {
		if _, err := cluster.Connect(c.options); err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), c.says) || !strings.Contains(hint.Of(err), c.next) {
			t.Errorf("%+v: %v (%s)", c.options, err, hint.Of(err))
		}
	}
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	if _, err := cluster.Connect(cluster.Options{}); err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(hint.Of(err), "KUBECONFIG") {
		t.Errorf("without a file: %v (%s)", err, hint.Of(err))
	}
}

// The secrets of a configuration are masked, in the errors of what cannot be used too.
func TestSecretsOfAConfiguration(t *testing.T) {
	t.Parallel()
	for _, server := range []string{"http://u:Zq7-word@127.0.0.1:1", "http://127.0.0.1:1/?token=Zq7-word", "http://u:Zq7-word@[::1", "http://u:Zq7-word@host:port"} {
		c, err := cluster.Connect(cluster.Options{Kubeconfig: kubeconfig(t, server)})
		if err == nil {
			err = c.Reach(t.Context())
		}
		if got := mask.Text(fmt.Sprint(err, "; Bearer Zq7-bearer")); err == nil || strings.Contains(got, "Zq7") {
			t.Errorf("%s: %s", server, got)
		}
	}
}

func TestReach(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status     int // 0: it does not answer
		says, next string
	}{
		"answers":         {200, "", ""},
		"may not ask":     {403, "", ""},
		"unknown account": {401, "ask the Kubernetes cluster for its version in namespace shop: ", "kubectl auth whoami"},
		"away":            {0, " cannot be reached: ", "kubectl version"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := make(chan string, 10)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked <- r.Method + " " + r.URL.Path
				w.WriteHeader(c.status)
			}))
			defer server.Close()
			if c.status == 0 {
				server.Close()
			}
			connected, err := cluster.Connect(cluster.Options{Kubeconfig: kubeconfig(t, server.URL)})
			if err != nil {
				t.Fatal(err)
			}
			err = connected.Reach(t.Context())
			switch {
			case c.says == "" && err != nil:
				t.Error(err)
			case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") || !strings.Contains(hint.Of(err), c.next)):
				t.Errorf("%v (%s), want %s (%s)", err, hint.Of(err), c.says, c.next)
			}
			if want := min(c.status, 1); len(asked) != want || want == 1 && <-asked != "GET /version" {
				t.Errorf("%d requests, want %d", len(asked), want)
			}
		})
	}
}

// A server that accepts connections and answers nothing is not waited for long.
func TestReachHung(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		config := &rest.Config{Host: "http://cluster", Dial: func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			t.Cleanup(func() { _ = far.Close() })
			return near, nil
		}}
		clients, err := client.New(config)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		err = (&cluster.Cluster{Interface: clients, Config: config}).Reach(t.Context())
		if took := time.Since(began); err == nil || !strings.Contains(err.Error(), "the Kubernetes cluster at http://cluster cannot be reached: ") || took > time.Minute {
			t.Errorf("%v after %s", err, took)
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
	})
}

func TestWhyNoPods(t *testing.T) {
	t.Parallel()
	ours := cluster.Labels("pay", cluster.Worker)
	job := func(uid types.UID, labels map[string]string) *batchv1.Job {
		return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "pay-workers", Namespace: "load", UID: uid, Labels: labels}}
	}
	event := func(uid types.UID, message string, second int64) *corev1.Event {
		return &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Name: message, Namespace: "load"},
			InvolvedObject: corev1.ObjectReference{Kind: "Job", Name: "pay-workers", UID: uid},
			Reason:         "FailedCreate", Type: corev1.EventTypeWarning, Message: message, LastTimestamp: metav1.Unix(second, 0),
		}
	}
	for name, c := range map[string]struct {
		objects []runtime.Object
		want    string
	}{
		"no event":                      {[]runtime.Object{job("1", ours)}, ""},
		"a quota, then a policy":        {[]runtime.Object{job("1", ours), event("1", "exceeded quota", 1e9), event("1", "violates\n  PodSecurity", 1e9+1)}, "violates PodSecurity"},
		"of an earlier Job of the name": {[]runtime.Object{job("2", ours), event("1", "exceeded quota", 1e9+1), event("2", "no account", 1e9)}, "no account"},
		"of a pod's name":               {[]runtime.Object{job("1", ours), event("1", `Pod "pay-workers-12-x7k2p" is invalid: "pay" is`, 1e9)}, `Pod "pay-workers-12" is invalid: "pay" is`},
		"of a Job that is gone":         {[]runtime.Object{event("1", "exceeded quota", 1e9)}, ""},
		"of another run, pay-workers":   {[]runtime.Object{job("1", cluster.Labels("pay-workers", cluster.Coordinator)), event("1", "exceeded quota", 1e9)}, ""},
		"of a Job that is not Assay's":  {[]runtime.Object{job("1", nil), event("1", "exceeded quota", 1e9)}, ""},
	} {
		connected, _ := fakeCluster(c.objects...)
		if got := connected.WhyNoPods(t.Context(), "pay", cluster.Worker); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
