//go:build long

package incluster_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"assay.dev/assay/internal/cluster"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/rulebook"
)

// certificate is what the tests read of certificate.json.
type certificate struct {
	Run     string `json:"run"`
	Verdict string `json:"verdict"`
	Claim   string `json:"claim"`
	Rate    struct {
		Scheduled int64 `json:"scheduled"`
		Completed int64 `json:"completed"`
	} `json:"rate"`
	SLOs []struct {
		Metric  string `json:"metric"`
		Verdict string `json:"verdict"`
	} `json:"slos"`
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

			HostCPUShare *float64 `json:"host_cpu_share"`
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

// wrong are the broken rules and SLOs that a busy machine alone does not break.
func (r result) wrong() (ids []string) {
	for _, rule := range r.Rules {
		if rule.Verdict == "INVALID" && rulebook.Blames(rule.ID) != rulebook.Generator && !slices.Contains([]string{"start-skew", "machine", "steady"}, rule.ID) {
			ids = append(ids, rule.ID+": "+rule.Detail)
		}
	}
	for _, slo := range r.SLOs {
		if slo.Verdict == "FAIL" && slo.Metric != metric.TransactionDuration && slo.Metric != "throughput" {
			ids = append(ids, slo.Metric+": "+slo.Verdict)
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
	selectors := []string{"app.kubernetes.io/managed-by=assay", "k6_cr"} // what the k6-operator makes has the latter
	if run != "" {
		selectors = []string{selectors[0] + ",app.kubernetes.io/instance=" + run, "k6_cr=" + run + "-workers"}
	}
	for kind, group := range map[string]schema.GroupVersion{
		"pods": corev1.SchemeGroupVersion, "secrets": corev1.SchemeGroupVersion, "configmaps": corev1.SchemeGroupVersion, "services": corev1.SchemeGroupVersion,
		"jobs": batchv1.SchemeGroupVersion, "networkpolicies": networkingv1.SchemeGroupVersion, "testruns": {Group: "k6.io", Version: "v1alpha1"},
	} {
		for _, selector := range selectors {
			all, err := s.dynamic.Resource(group.WithResource(kind)).Namespace(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: selector})
			if err != nil {
				t.Fatal(err)
			}
			for _, item := range all.Items {
				names = append(names, kind+"/"+item.GetName())
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// awaitClean waits until the cluster has removed what is left, of a run or of all. It asks
// once a second, as each answer takes fourteen requests.
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
