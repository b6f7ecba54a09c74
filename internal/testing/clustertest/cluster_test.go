//go:build long

package clustertest

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/tools/clientcmd"

	"assay.dev/assay/internal/cluster/client"
	"assay.dev/assay/internal/testing/polltest"
)

// TestCluster uses a cluster as the tests of runs do, which also use Jobs, the k6-operator,
// evictions and an API server that is away. Nothing is left of it, although a pod still
// runs; and another can be started after it.
func TestCluster(t *testing.T) {
	before := left(t)
	for i := range 2 {
		var c *Cluster
		t.Run("cluster", func(t *testing.T) {
			c = Start(t)
			create(t, c, "default", podOf("running", "sleep 600"))
			polltest.Until(t, "the pod runs", func() bool { return podNamed(t, c, "default", "running").Status.Phase == corev1.PodRunning })
			if i > 0 {
				return
			}
			for name, test := range map[string]func(*testing.T, *Cluster, string){
				"pod": testPod, "service": testService, "namespace": testNamespace, "token": testToken, "server": testServerOfTheTest,
			} {
				t.Run(name, func(t *testing.T) {
					c.Namespace(t, name)
					test(t, c, name)
				})
			}
		})
		if t.Failed() {
			return
		}
		checkRemoved(t, c, before)
	}
}

// podOf is a pod that runs a shell command once.
func podOf(name, command string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: new(int64),
			Containers: []corev1.Container{{Name: "main", Image: Busybox, Command: []string{"sh", "-c", command}}},
		},
	}
}

func create(t *testing.T, c *Cluster, namespace string, pod *corev1.Pod) {
	t.Helper()
	if _, err := c.Client().CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func podNamed(t *testing.T, c *Cluster, namespace, name string) *corev1.Pod {
	t.Helper()
	pod, err := c.Client().CoreV1().Pods(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

// ended waits until a pod has ended, and returns it.
func ended(t *testing.T, c *Cluster, namespace, name string) (pod *corev1.Pod) {
	t.Helper()
	polltest.Until(t, "pod "+name+" has ended", func() bool {
		pod = podNamed(t, c, namespace, name)
		return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	})
	return pod
}

func logOf(t *testing.T, c *Cluster, namespace, name string) string {
	t.Helper()
	log, err := c.Client().CoreV1().Pods(namespace).GetLogs(name, &corev1.PodLogOptions{}).DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return string(log)
}

// succeed runs a pod until it has succeeded, and returns its log.
func succeed(t *testing.T, c *Cluster, namespace string, pod *corev1.Pod) string {
	t.Helper()
	create(t, c, namespace, pod)
	phase, log := ended(t, c, namespace, pod.Name).Status.Phase, logOf(t, c, namespace, pod.Name)
	if phase != corev1.PodSucceeded {
		t.Fatalf("pod %s: %s: %s", pod.Name, phase, log)
	}
	return log
}

func testPod(t *testing.T, c *Cluster, namespace string) {
	c.Import(t, Image{
		Name:       "assay-test/greeting:1",
		Files:      map[string]File{"/bin": {From: filepath.Join(c.packages(), "bin")}, "/data/text": {Text: "hello\n"}, "/tmp": {Mode: os.ModeDir | os.ModeSticky | 0o777}},
		Entrypoint: []string{"/bin/busybox", "sh", "-c"}, Env: []string{"WORD=world"}, User: "65532:65532", WorkingDir: "/data",
	})
	pod := podOf("greeting", "")
	pod.Spec.Containers[0].Image, pod.Spec.Containers[0].Command = "assay-test/greeting:1", nil
	pod.Spec.Containers[0].Args = []string{"b=/bin/busybox; $b cat text; echo $WORD; $b id -u; $b touch /tmp/new"}
	if log := succeed(t, c, namespace, pod); log != "hello\nworld\n65532\n" {
		t.Errorf("log: %q", log)
	}
	if node := podNamed(t, c, namespace, pod.Name).Spec.NodeName; node != c.NodeName() {
		t.Errorf("node %q", node)
	}
}

// serve runs a Service with two pods, each of which answers with its own name.
func serve(t *testing.T, c *Cluster, namespace string) {
	t.Helper()
	for _, name := range []string{"a", "b"} {
		pod := podOf(name, "mkdir /www && hostname=$(cat /proc/sys/kernel/hostname) && echo $hostname >/www/index.html && httpd -f -h /www -p 8080")
		pod.Labels, pod.Spec.Subdomain, pod.Spec.Hostname = map[string]string{"app": "shop"}, "all", name
		create(t, c, namespace, pod)
	}
	for name, address := range map[string]string{"shop": "", "all": corev1.ClusterIPNone} {
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{
			ClusterIP: address, Selector: map[string]string{"app": "shop"},
			Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}},
		}}
		if _, err := c.Client().CoreV1().Services(namespace).Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// By name, with kube-proxy: the short name, one with the namespace, and the full one; and
// the names of the pods.
func testService(t *testing.T, c *Cluster, namespace string) {
	serve(t, c, namespace)
	log := succeed(t, c, namespace, podOf("client", `
		until [ "$(cat /tmp/*.seen 2>/dev/null | tr -d '\n')" = ab ]; do
			name=$(curl -sf -m 5 http://shop) && echo $name >/tmp/$name.seen || sleep 0.2
		done
		for host in shop.service shop.service.svc.cluster.local a.all:8080 b.all.service:8080; do
			curl -sSf -m 5 http://$host >/dev/null && echo $host
		done
		curl -sSf -m 5 http://none.service 2>&1 | grep -q 'not resolve' && echo none`))
	if want := "shop.service\nshop.service.svc.cluster.local\na.all:8080\nb.all.service:8080\nnone\n"; log != want {
		t.Errorf("log: %q", log)
	}
	if log := succeed(t, c, namespace, podOf("addresses", "nslookup all.service.svc.cluster.local | grep -c '^Address.*198.18.3.'")); log != "2\n" {
		t.Errorf("addresses of the Service without an own one: %q", log)
	}
	// From the node, too.
	s, err := c.Client().CoreV1().Services(namespace).Get(t.Context(), "shop", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := get(t.Context(), "http://"+s.Spec.ClusterIP); err != nil {
		t.Error(err)
	}
}

func testNamespace(t *testing.T, c *Cluster, _ string) {
	c.Namespace(t, "gone")
	serve(t, c, "gone")
	namespaces := c.Client().CoreV1().Namespaces()
	if err := namespaces.Delete(t.Context(), "gone", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	polltest.Until(t, "the namespace is gone", func() bool {
		_, err := namespaces.Get(t.Context(), "gone", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

// A service account's token is known to the API, and allows nothing by itself.
func testToken(t *testing.T, c *Cluster, namespace string) {
	token, err := c.Client().CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), "default", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", c.KubeconfigOf(t, token.Status.Token))
	if err != nil {
		t.Fatal(err)
	}
	clients, err := client.New(config)
	if err != nil {
		t.Fatal(err)
	}
	self, err := clients.AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if want := "system:serviceaccount:" + namespace + ":default"; err != nil || self.Status.UserInfo.Username != want {
		t.Errorf("user %v: %v", self, err)
	}
	if _, err := clients.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("list pods: %v", err)
	}
}

func testServerOfTheTest(t *testing.T, c *Cluster, namespace string) {
	l, err := net.Listen("tcp", net.JoinHostPort(c.NodeAddress(), "0"))
	if err != nil {
		t.Fatal(err)
	}
	s := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, "here")
	})}}
	s.Start()
	defer s.Close()
	if log := succeed(t, c, namespace, podOf("client", "curl -sSf -m 5 "+s.URL)); log != "here" {
		t.Errorf("log: %q", log)
	}
}
