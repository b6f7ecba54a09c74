//go:build long

package incluster_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"

	"assay/harness/cluster"
	"assay/harness/polltest"
	"assay/harness/servers/clustertest"
	"assay/harness/servers/mysqld/mysqldtest"
	"assay/harness/servers/process"
)

const (
	image     = "assay-test/assay:1"
	namespace = "load"
)

// shop is a cluster with the reference service, whose database is outside.
type shop struct {
	*clustertest.Cluster
	client  kubernetes.Interface
	dynamic dynamic.Interface
	program string // assay, which the image holds too
	project string // folder with thresholds.json and scenarios
	runs    string // folder of run folders
	dsn     string // of the database
	address string // base URL of the service from outside of the cluster

	mu sync.Mutex // of what parallel tests share

	kubeconfig string // access of an account with the printed Role alone
}

// target is the service's base URL in the cluster.
const target = "http://shop"

// openShop starts all of it, in one namespace, where an account may start runs.
func openShop(t *testing.T) *shop {
	t.Helper()
	s := startCluster(t, image)
	s.startDatabase(t, "shop", "a-password-of-the-test")
	_, err := s.client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: namespace, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.startService(t, namespace, image)
	s.writeProject(t)
	s.grant(t)
	return s
}

// startCluster starts a cluster that has the program's image.
func startCluster(t *testing.T, image string) *shop {
	t.Helper()
	program := os.Getenv("ASSAY_TEST_ASSAY")
	if program == "" {
		t.Fatal("no program to test: ASSAY_TEST_ASSAY is not set (run: make test-kubernetes)")
	}
	s := &shop{Cluster: clustertest.Start(t), program: program, project: t.TempDir(), runs: t.TempDir()}
	s.client = s.Client()
	var err error
	if s.dynamic, err = dynamic.NewForConfig(s.RESTConfig()); err != nil {
		t.Fatal(err)
	}
	s.Import(t, clustertest.Image{
		Name: image, User: "65532:65532", Entrypoint: []string{"assay"}, Env: []string{"PATH=/usr/local/bin"}, WorkingDir: "/certification",
		Files: map[string]clustertest.File{
			"/usr/local/bin/assay": {From: program}, "/usr/local/bin/k6": {Link: "assay"},
			"/certification": {Mode: os.ModeDir | 0o755},
		},
	})
	return s
}

// grant applies the printed Roles, and makes the access of the account that they are for.
func (s *shop) grant(t *testing.T) {
	t.Helper()
	out, err := s.command(t.Context(), "kubernetes", "rbac", "--kubernetes-namespace", namespace, "--subject", "serviceaccount:starter").Output()
	if err != nil {
		t.Fatal(err)
	}
	documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(out)))
	for {
		text, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode(text, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		switch o := object.(type) {
		case *corev1.ServiceAccount:
			_, err = s.client.CoreV1().ServiceAccounts(namespace).Create(t.Context(), o, metav1.CreateOptions{})
		case *rbacv1.Role:
			_, err = s.client.RbacV1().Roles(namespace).Create(t.Context(), o, metav1.CreateOptions{})
		case *rbacv1.RoleBinding:
			_, err = s.client.RbacV1().RoleBindings(namespace).Create(t.Context(), o, metav1.CreateOptions{})
		default:
			t.Fatalf("%T is printed", o)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	token, err := s.client.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), "starter", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.kubeconfig = s.KubeconfigOf(t, token.Status.Token)
}

// startDatabase starts a server, which pods reach at the node's address. It returns that.
func (s *shop) startDatabase(t *testing.T, user, password string) net.Addr {
	t.Helper()
	server := mysqldtest.StartInMemory(t, "mariadb", "--max-connections=300")
	db := mysqldtest.Open(t, server.DSN())
	mysqldtest.Exec(t, db, "CREATE DATABASE shop", "CREATE USER "+user+"@'127.0.0.1' IDENTIFIED BY '"+password+"'", "GRANT ALL ON *.* TO "+user+"@'127.0.0.1'")
	l, err := net.Listen("tcp", net.JoinHostPort(s.NodeAddress(), "0"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go relay(l, process.Address(server.Port()))
	c := mysql.NewConfig()
	c.User, c.Passwd, c.Net, c.Addr, c.DBName = user, password, "tcp", l.Addr().String(), "shop"
	s.dsn = c.FormatDSN()
	return l.Addr()
}

// relay joins each connection with one to an address.
func relay(l net.Listener, to string) {
	for {
		in, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			out, err := net.Dial("tcp", to)
			if err != nil {
				_ = in.Close()
				return
			}
			go func() {
				_, _ = io.Copy(out, in)
				_ = out.(*net.TCPConn).CloseWrite()
			}()
			_, _ = io.Copy(in, out)
			_, _ = in.Close(), out.Close()
		}()
	}
}

// startService starts two pods of the reference service behind a Service.
func (s *shop) startService(t *testing.T, namespace, image string) {
	t.Helper()
	labels := map[string]string{"app": "shop"}
	_, err := s.client.CoreV1().Secrets(namespace).Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "shop-database"}, StringData: map[string]string{"dsn": s.dsn},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	security := corev1.SecurityContext{
		RunAsNonRoot: new(true), AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	_, err = s.client.AppsV1().Deployments(namespace).Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "shop"},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(2)), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				TerminationGracePeriodSeconds: new(int64(1)),
				Containers: []corev1.Container{{
					Name: "shop", Image: image, SecurityContext: &security,
					Args: []string{"target", "--listen", "0.0.0.0:18080", "--allow-remote", "--commits", "transaction", "--gateway-latency", "30", "--gateway-patience", "10s", "--gateway-timeouts", "0", "--gateway-declines", "0"},
					Env: []corev1.EnvVar{{Name: "ASSAY_DB", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
						LocalObjectReference: corev1.LocalObjectReference{Name: "shop-database"}, Key: "dsn",
					}}}},
					// Without a request it would get the least CPU of all.
					Resources:      corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}},
					ReadinessProbe: &corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(18080)}}},
				}},
			}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	service, err := s.client.CoreV1().Services(namespace).Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "shop"},
		Spec:       corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(18080)}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.address = "http://" + service.Spec.ClusterIP
	empty := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "empty"}, Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "none"}, Ports: service.Spec.Ports}}
	if _, err := s.client.CoreV1().Services(namespace).Create(t.Context(), empty, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	polltest.Until(t, "the service is ready", func() bool {
		d, err := s.client.AppsV1().Deployments(namespace).Get(t.Context(), "shop", metav1.GetOptions{})
		return err == nil && d.Status.ReadyReplicas == 2
	})
}

// writeProject writes a project with short profiles of the repository's payment.
func (s *shop) writeProject(t *testing.T) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), s.program, "init", s.project).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(s.project, "thresholds.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file map[string]any
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	profiles := file["profiles"].(map[string]any)
	payment := profiles["payment"].(map[string]any)
	payment["load"] = map[string]any{"unit": "tps", "target": 20, "warmup": "1s", "baseline": map[string]any{"rate": 5, "for": "2s"}, "ramp": "1s", "hold": "10s", "cooldown": "1s"}
	slos := payment["slo"].(map[string]any)
	slos["transaction_duration"] = []string{"p(95)<3000"}
	delete(slos, "http_req_duration{name:pay}")
	payment["rules"] = map[string]any{"offered": 0.1, "generator-drops": 0.1} // 16 workers may share two busy CPUs
	variant := func(name, script, bound string) map[string]any {
		v, slo := maps.Clone(payment), maps.Clone(slos)
		v["scenario"], v["slo"], slo["transaction_duration"] = "scenarios/"+script, slo, []string{bound}
		profiles[name] = v
		return v
	}
	file["profiles"] = profiles
	clear(profiles)
	profiles["payment"] = payment
	variant("checkout", "payment.js", "p(95)<3000")
	delete(variant("strict", "payment.js", "p(95)<3000"), "rules")
	longer := maps.Clone(payment["load"].(map[string]any))
	longer["hold"] = "15s"
	variant("longer", "payment.js", "p(95)<3000")["load"] = longer
	variant("fast", "payment.js", "p(95)<5")
	variant("leaking", "leaking.js", "p(95)<3000")
	variant("broken", "broken.js", "p(95)<3000")
	if text, err = json.Marshal(file); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"thresholds.json": string(text),
		// Each transaction keeps 8 MiB.
		"scenarios/leaking.js": "import payment from './payment.js';\nconst kept = [];\nexport default function () {\n  kept.push(new Uint8Array(8 << 20).fill(1));\n  payment();\n}\n",
		"scenarios/broken.js":  "import payment from './payment.js';\nexport default function () {\n",
		"throttled.yaml":       "kind: Pod\nmetadata: {name: worker-throttled-workers}\nspec: {containers: [{name: assay, resources: {limits: {cpu: 20m}}}]}\n",
	} {
		if err := os.WriteFile(filepath.Join(s.project, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// certificate is what the tests read of certificate.json.
type certificate struct {
	Verdict string `json:"verdict"`
	Claim   string `json:"claim"`
	Rate    struct {
		Scheduled int64 `json:"scheduled"`
		Completed int64 `json:"completed"`
	} `json:"rate"`
	Rules []struct {
		ID      string `json:"id"`
		Verdict string `json:"verdict"`
		Detail  string `json:"detail"`
	} `json:"rules"`
	Latency struct {
		Transaction struct {
			P50 float64 `json:"p50"`
			P95 float64 `json:"p95"`
		} `json:"transaction"`
	} `json:"latency"`
	Generator struct {
		Workers int `json:"workers"`
		Fleet   []struct {
			Source string `json:"worker"`
			Pod    string `json:"pod"`
			Node   string `json:"node"`
		} `json:"fleet"`
	} `json:"generator"`
}

// result is how a command ended.
type result struct {
	code   int
	stderr string
	dir    string // run folder
	certificate
}

// broken are the ids of the rules that made the run INVALID.
func (r result) broken() (ids []string) {
	for _, rule := range r.Rules {
		if rule.Verdict == "INVALID" {
			ids = append(ids, rule.ID+": "+rule.Detail)
		}
	}
	return ids
}

// exitCode is that of a command that ended with this error.
func exitCode(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return 0
}

// command is a command of the program in the project, by the account of the printed Role.
func (s *shop) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, s.program, args...)
	cmd.Dir = s.project
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "TMPDIR=" + os.Getenv("TMPDIR"),
		"KUBECONFIG=" + s.kubeconfig, "ASSAY_IMAGE=" + image, "ASSAY_DB=" + s.dsn,
	}
	return cmd
}

// running is a command that certifies.
type running struct{ cmd *exec.Cmd }

// run runs a command that certifies, and reads its certificate.
func (s *shop) run(t *testing.T, args ...string) result {
	t.Helper()
	return s.runAnd(t, holds, func(*running) {}, args...)
}

// What a run prints when its hold begins, and when its workers have joined.
const (
	holds  = ": hold, "
	joined = ": initialising "
)

// runAnd is run, and does something once it has printed a text.
func (s *shop) runAnd(t *testing.T, text string, during func(*running), args ...string) (r result) {
	t.Helper()
	out, err := os.MkdirTemp(s.runs, "run-") // an empty folder
	if err != nil {
		t.Fatal(err)
	}
	cmd := s.command(t.Context(), append(args, "--out", out)...)
	stderr := &watched{log: logWriter{t}, text: text, begun: make(chan struct{})}
	cmd.Stderr = stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case <-stderr.begun:
		during(&running{cmd})
		<-done
	case <-done:
	}
	r.code, r.stderr, r.dir = cmd.ProcessState.ExitCode(), stderr.String(), out
	certificate, err := os.ReadFile(filepath.Join(out, "certificate.json"))
	if err != nil {
		return r // there was no run
	}
	if err := json.Unmarshal(certificate, &r.certificate); err != nil {
		t.Fatal(err)
	}
	return r
}

// watched is the output of a command, which is waited for.
type watched struct {
	log   io.Writer
	text  string
	begun chan struct{} // closed when the text has been written

	mu   sync.Mutex
	all  strings.Builder
	seen bool
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all.Write(p)
	if !w.seen && strings.Contains(w.all.String(), w.text) {
		w.seen = true
		close(w.begun)
	}
	return w.log.Write(p)
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all.String()
}

// logWriter writes to the log of a test.
type logWriter struct{ t *testing.T }

func (w logWriter) Write(p []byte) (int, error) {
	w.t.Logf("%s %s", time.Now().Format("15:04:05"), strings.TrimRight(string(p), "\n"))
	return len(p), nil
}

// inCluster are the arguments of a run in the cluster.
func inCluster(workers int, more ...string) []string {
	return append([]string{
		"kubernetes", "certify", "payment", "--workers", strconv.Itoa(workers), "--target", target, "--allow-target", "shop",
		"--kubernetes-namespace", namespace, "--kubernetes-cpu", "50m", "--kubernetes-memory", "256Mi", "--coordinator-cpu", "50m", "--seed", "7",
	}, more...)
}

// local are the arguments of a run on this machine.
func (s *shop) local(workers int) []string {
	return []string{"certify", "payment", "--workers", strconv.Itoa(workers), "--target", s.address, "--allow-target", strings.TrimPrefix(s.address, "http://"), "--seed", "7"}
}

// outside are the arguments of a run with the coordinator on this machine, and workers in
// the cluster.
func (s *shop) outside(workers, port int) []string {
	return append(s.local(workers),
		"--engine", "kubernetes", "--listen", net.JoinHostPort(s.NodeAddress(), strconv.Itoa(port)), "--kubernetes-name", "outside-"+strconv.Itoa(port),
		"--kubernetes-namespace", namespace, "--kubernetes-cpu", "50m", "--kubernetes-memory", "256Mi")
}

// pod is the name of a pod of a run.
func (s *shop) pod(t *testing.T, name, component string) string {
	t.Helper()
	all, err := s.client.CoreV1().Pods(namespace).List(t.Context(), cluster.ListOptions(name, component))
	if err != nil || len(all.Items) == 0 {
		t.Fatalf("no pod of %s: %v", name, err)
	}
	return all.Items[0].Name
}

func (s *shop) workerPod(t *testing.T, name string) string { return s.pod(t, name, cluster.Worker) }

func (s *shop) deletePod(t *testing.T, name string, o metav1.DeleteOptions) {
	t.Helper()
	if err := s.client.CoreV1().Pods(namespace).Delete(t.Context(), name, o); err != nil {
		t.Error(err)
	}
}

// leftovers are the objects that are left in the namespace: of a run, or of all.
func (s *shop) leftovers(t *testing.T, run string) (names []string) {
	t.Helper()
	o := metav1.ListOptions{LabelSelector: "app.kubernetes.io/managed-by=assay"}
	if run != "" {
		o.LabelSelector += ",app.kubernetes.io/instance=" + run
	}
	for kind, group := range map[string]schema.GroupVersion{
		"pods": corev1.SchemeGroupVersion, "secrets": corev1.SchemeGroupVersion, "configmaps": corev1.SchemeGroupVersion, "services": corev1.SchemeGroupVersion,
		"jobs": batchv1.SchemeGroupVersion, "networkpolicies": networkingv1.SchemeGroupVersion, "testruns": {Group: "k6.io", Version: "v1alpha1"},
	} {
		all, err := s.dynamic.Resource(group.WithResource(kind)).Namespace(namespace).List(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range all.Items {
			names = append(names, kind+"/"+item.GetName())
		}
	}
	return names
}

// awaitClean waits until the cluster has removed what is left, of a run or of all. It asks
// once a second, as each answer takes seven requests.
func (s *shop) awaitClean(t *testing.T, run string, limit time.Duration) {
	t.Helper()
	for deadline := time.Now().Add(limit); ; time.Sleep(time.Second) {
		left := s.leftovers(t, run)
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("left in the namespace after %s: %s", limit, strings.Join(left, ", "))
		}
	}
}

// checkClean fails if a run has left anything in the namespace.
func (s *shop) checkClean(t *testing.T, run string) {
	t.Helper()
	if left := s.leftovers(t, run); len(left) > 0 {
		t.Errorf("left in the namespace: %s", strings.Join(left, ", "))
	}
}
