//go:build long

package clustertest

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"assay/harness/load/k6"
	"assay/harness/polltest"
)

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "k6" { // in the image of TestRuns
		k6.Main(os.Args[1:])
	}
	os.Exit(m.Run())
}

// One cluster for all, as each takes seconds to start.
func TestCluster(t *testing.T) {
	start := time.Now()
	c := Start(t)
	t.Logf("ready after %s", time.Since(start))
	for name, test := range map[string]func(*testing.T, *Cluster, string){
		"pod": testPod, "job": testJob, "service": testService, "memory": testMemory, "eviction": testEviction,
		"namespace": testNamespace, "token": testToken, "server": testServerOfTheTest, "outage": testOutage, "operator": testOperator,
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			c.Namespace(t, name)
			test(t, c, name)
			t.Logf("took %s", time.Since(start))
		})
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

func testJob(t *testing.T, c *Cluster, namespace string) {
	jobs, two, indexed := c.Client().BatchV1().Jobs(namespace), int32(2), batchv1.IndexedCompletion
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "two"}, Spec: batchv1.JobSpec{
		Completions: &two, Parallelism: &two, CompletionMode: &indexed, BackoffLimitPerIndex: new(int32), TTLSecondsAfterFinished: &two,
		Template: corev1.PodTemplateSpec{Spec: podOf("", "echo index $JOB_COMPLETION_INDEX; exit $JOB_COMPLETION_INDEX").Spec},
	}}
	if _, err := jobs.Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	polltest.Until(t, "index 0 has succeeded and index 1 has failed", func() bool {
		j, err := jobs.Get(t.Context(), "two", metav1.GetOptions{})
		return err == nil && j.Status.CompletedIndexes == "0" && j.Status.FailedIndexes != nil && *j.Status.FailedIndexes == "1"
	})
	polltest.Until(t, "the job is removed after its time", func() bool {
		_, err := jobs.Get(t.Context(), "two", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	polltest.Until(t, "its pods are removed, too", func() bool {
		pods, err := c.Client().CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
		return err == nil && len(pods.Items) == 0
	})
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

func testMemory(t *testing.T, c *Cluster, namespace string) {
	pod := podOf("hungry", "x=x; while true; do x=$x$x; done")
	pod.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("20Mi")}
	create(t, c, namespace, pod)
	end := ended(t, c, namespace, "hungry").Status.ContainerStatuses[0].State.Terminated
	if end.Reason != "OOMKilled" || end.ExitCode != 137 {
		t.Errorf("%+v", end)
	}
}

func testEviction(t *testing.T, c *Cluster, namespace string) {
	create(t, c, namespace, podOf("evicted", "sleep 600"))
	polltest.Until(t, "the pod runs", func() bool { return podNamed(t, c, namespace, "evicted").Status.Phase == corev1.PodRunning })
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "evicted", Namespace: namespace}}
	if err := c.Client().PolicyV1().Evictions(namespace).Evict(t.Context(), eviction); err != nil {
		t.Fatal(err)
	}
	polltest.Until(t, "the pod is gone", func() bool {
		_, err := c.Client().CoreV1().Pods(namespace).Get(t.Context(), "evicted", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
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
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	self, err := client.AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if want := "system:serviceaccount:" + namespace + ":default"; err != nil || self.Status.UserInfo.Username != want {
		t.Errorf("user %v: %v", self, err)
	}
	if _, err := client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
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

// What runs goes on without the API, Services and their names among it.
func testOutage(t *testing.T, c *Cluster, namespace string) {
	serve(t, c, namespace)
	create(t, c, namespace, podOf("client", `
		until curl -sf -m 5 http://shop; do sleep 0.2; done
		while sleep 0.1; do curl -sf -m 5 -o /dev/null http://shop && echo answer || echo lost; done`))
	answers := func() int {
		if podNamed(t, c, namespace, "client").Status.Phase != corev1.PodRunning {
			return 0
		}
		log := logOf(t, c, namespace, "client")
		if strings.Contains(log, "lost") {
			t.Fatalf("the client has lost an answer: %s", log)
		}
		return strings.Count(log, "answer")
	}
	polltest.Until(t, "the client gets answers", func() bool { return answers() > 0 })
	c.StopAPIServer(t)
	polltest.Until(t, "connections to the API are refused", func() bool {
		_, err := c.Client().CoreV1().Nodes().Get(t.Context(), c.NodeName(), metav1.GetOptions{})
		return errors.Is(err, syscall.ECONNREFUSED)
	})
	time.Sleep(5 * time.Second)
	c.StartAPIServer(t)
	before := answers()
	polltest.Until(t, "the client gets more answers", func() bool { return answers() > before })
	if log := succeed(t, c, namespace, podOf("afterwards", "echo here")); log != "here\n" {
		t.Errorf("log: %q", log)
	}
}

// A TestRun with two runners of the real k6, started by the operator's own starter.
func testOperator(t *testing.T, c *Cluster, namespace string) {
	c.InstallK6Operator(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	files := c.BusyboxFiles()
	files["/bin/k6"] = File{From: self}
	c.Import(t, Image{Name: "assay-test/k6:1", Files: files, Env: []string{"PATH=/bin"}, User: "65532:65532"})
	c.Apply(t, []byte(`
apiVersion: v1
kind: ConfigMap
metadata: {name: script, namespace: `+namespace+`}
data:
  script.js: |
    export const options = {scenarios: {one: {executor: 'per-vu-iterations', vus: 2, iterations: 1}}}
    export default function () { console.log('iteration of the script') }
---
apiVersion: k6.io/v1alpha1
kind: TestRun
metadata: {name: two, namespace: `+namespace+`}
spec:
  parallelism: 2
  script: {configMap: {name: script, file: script.js}}
  runner: {image: "assay-test/k6:1"}
`))
	pods := c.Client().CoreV1().Pods(namespace)
	var runners *corev1.PodList
	polltest.Until(t, "both runners have succeeded", func() bool {
		if runners, err = pods.List(t.Context(), metav1.ListOptions{LabelSelector: "runner=true"}); err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, p := range runners.Items {
			if p.Status.Phase == corev1.PodFailed {
				t.Fatalf("runner %s: %s", p.Name, logOf(t, c, namespace, p.Name))
			}
			if p.Status.Phase == corev1.PodSucceeded {
				n++
			}
		}
		return n == 2
	})
	for _, p := range runners.Items {
		if log := logOf(t, c, namespace, p.Name); strings.Count(log, "iteration of the script") != 1 {
			t.Errorf("runner %s: %s", p.Name, log)
		}
	}
}
