//go:build long

package incluster_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"assay.dev/assay/internal/testing/clustertest"
)

const guide = "../../../docs/kubernetes.md"

// TestKubernetesGuide runs the commands of docs/kubernetes.md in order, as its reader would:
// those in blocks of the language sh. Each must succeed, and print the lines of the block
// of text that follows immediately, in which ... stands for anything.
func TestKubernetesGuide(t *testing.T) {
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	s := openGuide(t)
	steps := stepsOf(strings.NewReplacer(
		"10.0.0.5", s.NodeAddress(), "http://shop.example.com", s.address, "shop.example.com", strings.TrimPrefix(s.address, "http://"),
		"assay:secret@tcp(db.example.com:3306)/shop", s.dsn,
	).Replace(string(text)))
	if len(steps) == 0 {
		t.Fatal("there is nothing to run")
	}
	outputs, err := s.runSteps(t, steps)
	for i, step := range steps {
		if i >= len(outputs) {
			break
		}
		if missing := step.missing(outputs[i]); missing != "" {
			t.Errorf("%s\ndoes not print\n%s\nbut\n%s", step.commands, missing, outputs[i])
		}
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s", steps[len(outputs)-1].commands, err, outputs[len(outputs)-1])
	}
	s.awaitClean(t, "", time.Minute)
}

// openGuide starts what the guide assumes: a Service in a namespace, its database with a
// name there, the program's image in a registry, the k6-operator, and a project.
func openGuide(t *testing.T) *shop {
	t.Helper()
	const image, namespace = "registry.example.com/assay:1.0", "prod"
	s := startCluster(t, image)
	s.InstallK6Operator(t)
	s.Namespace(t, namespace)
	address := s.startDatabase(t, "assay", "secret").(*net.TCPAddr)
	_, err := s.client.CoreV1().Services(namespace).Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "db"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 3306}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.client.DiscoveryV1().EndpointSlices(namespace).Create(t.Context(), &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: "db", Labels: map[string]string{discoveryv1.LabelServiceName: "db"}},
		AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{address.IP.String()}}},
		Ports: []discoveryv1.EndpointPort{{Name: new(""), Port: new(int32(address.Port))}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.startService(t, namespace, image)
	s.writeProject(t)
	return s
}

// step are commands of the guide, and lines that they print.
type step struct {
	commands string
	prints   []string
}

var fences = regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```\n\n?")

func stepsOf(text string) (steps []step) {
	end := -1 // end of the last block of sh
	for _, m := range fences.FindAllStringSubmatchIndex(text, -1) {
		language, block := text[m[2]:m[3]], text[m[4]:m[5]]
		switch {
		case language == "sh":
			steps = append(steps, step{commands: block})
			end = m[1]
		case language == "text" && m[0] == end:
			steps[len(steps)-1].prints = strings.Split(strings.TrimSpace(block), "\n")
		}
	}
	return steps
}

// missing is the first line that is not in the output, after the lines before it.
func (s step) missing(output string) string {
	for _, line := range s.prints {
		pattern := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSpace(line)), `\.\.\.`, ".*")
		found := regexp.MustCompile(pattern).FindStringIndex(output)
		if found == nil {
			return line
		}
		output = output[found[1]:]
	}
	return ""
}

// runSteps runs all steps in one shell, which ends with the first that fails, and returns
// what each of them has printed.
func (s *shop) runSteps(t *testing.T, steps []step) (outputs []string, err error) {
	t.Helper()
	access, err := os.ReadFile(s.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig") // copy that the guide changes
	if err := os.WriteFile(kubeconfig, access, 0o600); err != nil {
		t.Fatal(err)
	}
	const next = "---- next step ----"
	var script strings.Builder
	for i, step := range steps {
		if i > 0 {
			fmt.Fprintf(&script, "echo '%s'\n", next)
		}
		script.WriteString(step.commands)
	}
	cmd := s.shell(t, kubeconfig, script.String())
	output := &watched{log: logWriter{t}, text: next, begun: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = output, output
	err = cmd.Run()
	return strings.Split(output.String(), next+"\n"), err
}

// shell is a shell that runs these commands in the project, and ends with the first that
// fails.
func (s *shop) shell(t *testing.T, kubeconfig, commands string) *exec.Cmd {
	t.Helper()
	bin := t.TempDir()
	for name, path := range map[string]string{"assay": s.program, "kubectl": filepath.Join(os.Getenv(clustertest.Env), "bin/kubectl")} {
		if err := os.Symlink(path, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-e", "-o", "pipefail", "-c", commands)
	cmd.Dir = s.project
	cmd.Env = []string{
		"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + bin, "TMPDIR=" + os.Getenv("TMPDIR"), "KUBECONFIG=" + kubeconfig,
	}
	return cmd
}
