package fleet

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"assay/harness/load/arrivals"
	"assay/harness/load/k6"
	"assay/harness/observe/metric"
	"assay/harness/plan"
	"assay/harness/spec"
	"assay/harness/wire"
)

// Spec describes a fleet and its run.
type Spec struct {
	Run     string
	Profile spec.Profile
	Plan    plan.Plan
	Script  string   // path of the scenario
	Target  string   // base URL, ASSAY_TARGET
	Hosts   []string // allowed targets, in addition to loopback
	URL     string   // the coordinator's
	Token   string
	DSN     string   // ASSAY_DB of scripts that need the database; else empty
	Outputs []string // further k6 outputs, as for --out; %d is replaced by the worker's number
	Dir     string   // for configuration and logs
}

// caVariables name certificate authorities other than the system's (crypto/x509).
var caVariables = []string{"SSL_CERT_FILE", "SSL_CERT_DIR"}

// Worker is what an engine needs to start one worker.
type Worker struct {
	Source string
	Args   []string // of `assay k6`, without secrets
	Env    []string // its whole environment
	Log    string   // path of its output
}

// scenarioName is k6's name of the scenario, from the profile's: k6 allows letters,
// digits, - and _ only.
func scenarioName(profile string) string {
	name := []byte(profile)
	for i, c := range name {
		if !(c == '-' || c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z') {
			name[i] = '_'
		}
	}
	return string(name)
}

// Prepare writes the configuration of worker i into the fleet's folder.
func (s Spec) Prepare(i int) (Worker, error) {
	w := s.Plan.Workers[i]
	name := scenarioName(s.Profile.Name)
	config := map[string]any{"scenarios": map[string]any{name: map[string]any{
		"executor": arrivals.ExecutorType,
		"assay": arrivals.Parameters{
			Stages: s.Plan.Stages, Seed: s.Plan.Seed, Even: s.Plan.Even,
			VUs: w.VUs, Timeout: s.Plan.Timeout, RunSetup: i == 0, Hosts: s.Hosts,
		},
	}}}
	session := k6.Session{
		Run: s.Run, Scenario: name, Seed: s.Plan.Seed, SLOs: s.Profile.SLOs, DisplacedAfter: s.Plan.DisplacedAfter, Timeout: s.Plan.Timeout,
		VUs: w.VUs, Rate: s.Plan.Target / float64(len(s.Plan.Workers)),
	}
	configPath := filepath.Join(s.Dir, fmt.Sprintf("worker-%d.k6.json", i))
	sessionPath := filepath.Join(s.Dir, fmt.Sprintf("worker-%d.session.json", i))
	for path, content := range map[string]any{configPath: config, sessionPath: session} {
		if err := writeJSON(path, content); err != nil {
			return Worker{}, err
		}
	}
	args := []string{
		"run", "--quiet", "--no-color", "--address", "", "--summary-mode", "disabled", "--no-thresholds",
		"--config", configPath, "--out", k6.OutputName + "=" + sessionPath,
		"--system-tags", strings.Join(k6.SystemTags(s.Profile.SLOs), ","),
		"-e", "ASSAY_TARGET=" + s.Target, "-e", "ASSAY_RUN=" + s.Run,
		"-e", fmt.Sprintf("ASSAY_WORKER=%d", i), "-e", fmt.Sprintf("ASSAY_SEED=%d", s.Plan.Seed),
	}
	for _, out := range s.Outputs {
		args = append(args, "--out", strings.ReplaceAll(out, "%d", strconv.Itoa(i)))
	}
	if s.Plan.Sequence != "" {
		args = append(args, "--execution-segment", w.Segment, "--execution-segment-sequence", s.Plan.Sequence)
	}
	if i > 0 {
		args = append(args, "--no-setup", "--no-teardown")
	}
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"),
		wire.EnvURL + "=" + s.URL, wire.EnvToken + "=" + s.Token, wire.EnvSource + "=" + metric.WorkerSource(i),
	}
	if s.DSN != "" {
		env = append(env, "ASSAY_DB="+s.DSN)
	}
	for _, name := range caVariables {
		if value, set := os.LookupEnv(name); set {
			env = append(env, name+"="+value)
		}
	}
	return Worker{
		Source: metric.WorkerSource(i), Args: append(args, s.Script), Env: env,
		Log: filepath.Join(s.Dir, fmt.Sprintf("worker-%d.log", i)),
	}, nil
}

func writeJSON(path string, content any) error {
	data, err := json.Marshal(content)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		return fmt.Errorf("write worker configuration: %w", err)
	}
	return nil
}
