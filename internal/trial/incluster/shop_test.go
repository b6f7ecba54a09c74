//go:build long

package incluster_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/go-sql-driver/mysql"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	rbacclient "k8s.io/client-go/kubernetes/typed/rbac/v1"

	"assay.dev/assay/internal/cluster/client"
	"assay.dev/assay/internal/servers/process"
	"assay.dev/assay/internal/testing/clustertest"
	"assay.dev/assay/internal/testing/mysqldtest"
	"assay.dev/assay/internal/testing/polltest"
)

const (
	image     = "assay-test/assay:1"
	namespace = "load"
)

// shop is a cluster with the reference service, whose database is outside.
type shop struct {
	*clustertest.Cluster
	client  client.Interface
	dynamic dynamic.Interface
	program string // assay, which the image holds too
	project string // folder with thresholds.json and scenarios
	runs    string // folder of run folders
	dsn     string // DSN of the database
	address string // base URL of the service from outside of the cluster

	mu sync.Mutex // guards what parallel tests share

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
	program, lab := os.Getenv("ASSAY_TEST_ASSAY"), os.Getenv("ASSAY_LAB")
	if program == "" || lab == "" {
		t.Fatal("no program to test: ASSAY_TEST_ASSAY or ASSAY_LAB is not set (run: make test-kubernetes)")
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
			"/usr/local/bin/assay": {From: program}, "/usr/local/bin/k6": {Link: "assay"}, "/usr/local/bin/assay-lab": {From: lab},
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
	rights, err := rbacclient.NewForConfig(s.RESTConfig())
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
			_, err = rights.Roles(namespace).Create(t.Context(), o, metav1.CreateOptions{})
		case *rbacv1.RoleBinding:
			_, err = rights.RoleBindings(namespace).Create(t.Context(), o, metav1.CreateOptions{})
		default:
			t.Fatalf("%T is printed", o)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	s.kubeconfig = s.accessOf(t, "starter")
}

// accessOf is the kubeconfig of a service account in the namespace of the runs.
func (s *shop) accessOf(t *testing.T, account string) string {
	t.Helper()
	token, err := s.client.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return s.KubeconfigOf(t, token.Status.Token)
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
					Command: []string{"assay-lab"},
					Args:    []string{"target", "--listen", "0.0.0.0:18080", "--allow-remote", "--commits", "transaction", "--gateway-latency", "30", "--gateway-patience", "10s", "--gateway-timeouts", "0", "--gateway-declines", "0"},
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
	payment["load"] = map[string]any{"unit": "tps", "target": 12, "warmup": "1s", "baseline": map[string]any{"rate": 5, "for": "2s"}, "ramp": "1s", "hold": "10s", "cooldown": "1s"}
	slos := payment["slo"].(map[string]any)
	slos["transaction_duration"] = []string{"p(95)<3000"}
	slos["http_req_failed"] = []string{"rate<0.05"} // a bound that so few requests can decide
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
	delete(variant("computing", "computing.js", "p(95)<3000"), "rules")
	longer := maps.Clone(payment["load"].(map[string]any))
	longer["hold"] = "15s"
	variant("longer", "payment.js", "p(95)<3000")["load"] = longer
	variant("fast", "payment.js", "p(95)<25") // the gateway alone mostly takes longer
	variant("leaking", "leaking.js", "p(95)<3000")
	variant("broken", "broken.js", "p(95)<3000")
	if text, err = json.Marshal(file); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"thresholds.json": string(text),
		// Each transaction keeps 8 MiB.
		"scenarios/leaking.js": "import payment from './payment.js';\nconst kept = [];\nexport default function () {\n  kept.push(new Uint8Array(8 << 20).fill(1));\n  payment();\n}\n",
		// Each transaction takes tens of milliseconds of CPU, many times what throttled.yaml allows.
		"scenarios/computing.js": "import payment from './payment.js';\nexport default function () {\n  for (let i = 0, x = 1; i < 1e6; i++) x = (31 * x + i) % 1000003;\n  payment();\n}\n",
		"scenarios/broken.js":    "import payment from './payment.js';\nexport default function () {\n",
		"throttled.yaml":         "kind: Pod\nmetadata: {name: worker-throttled-workers}\nspec: {containers: [{name: assay, resources: {limits: {cpu: 100m}}}]}\n",
	} {
		if err := os.WriteFile(filepath.Join(s.project, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
