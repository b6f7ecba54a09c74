package worker

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"assay.dev/assay/internal/crash"
	"assay.dev/assay/internal/load/k6"
	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/servers/process"
	"assay.dev/assay/internal/wire"
)

// Files in the worker's folder.
const (
	archiveFile = "script.tar"
	configFile  = "k6.json"
	sessionFile = "session.json"
)

// arguments are those of `assay k6`. They hold no secret: command lines are public.
func arguments(a wire.Assignment, dir string) []string {
	args := []string{
		"k6", "run", "--quiet", "--no-color", "--address", "", "--summary-mode", "disabled", "--no-thresholds",
		"--config", filepath.Join(dir, configFile), "--out", k6.OutputName + "=" + filepath.Join(dir, sessionFile),
		"--system-tags", strings.Join(a.SystemTags, ","),
		"-e", "ASSAY_TARGET=" + a.Target, "-e", "ASSAY_RUN=" + a.Run,
		"-e", fmt.Sprintf("ASSAY_WORKER=%d", a.Number), "-e", fmt.Sprintf("ASSAY_SEED=%d", a.Seed),
	}
	for _, pair := range a.Env {
		args = append(args, "-e", pair) // variables of the script alone: they must not change k6
	}
	for _, out := range a.Outputs {
		args = append(args, "--out", strings.ReplaceAll(out, "%d", strconv.Itoa(a.Number)))
	}
	if a.Sequence != "" {
		args = append(args, "--execution-segment", a.Segment, "--execution-segment-sequence", a.Sequence)
	}
	if !a.Setup {
		args = append(args, "--no-setup", "--no-teardown")
	}
	return append(args, filepath.Join(dir, archiveFile))
}

// caVariables name certificate authorities other than the system's (crypto/x509).
var caVariables = []string{"SSL_CERT_FILE", "SSL_CERT_DIR"}

// environment is k6's whole environment: scripts must not see the run's token.
func environment(a wire.Assignment, p *parent, offset time.Duration) []string {
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"),
		wire.EnvURL + "=" + p.url, wire.EnvToken + "=" + p.token, wire.EnvSource + "=" + a.Source, wire.EnvOffset + "=" + offset.String(),
	}
	if a.Database != "" {
		env = append(env, "ASSAY_DB="+a.Database)
	}
	if a.Nodes != "" {
		env = append(env, "ASSAY_DB_NODES="+a.Nodes)
	}
	for _, name := range caVariables {
		if value, set := os.LookupEnv(name); set {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// prepare writes the files that k6 reads.
func prepare(a wire.Assignment, archive []byte, dir string) error {
	for name, content := range map[string][]byte{archiveFile: archive, configFile: a.Config, sessionFile: a.Session} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return fmt.Errorf("write worker configuration: %w", err)
		}
	}
	return nil
}

// child is k6.
type child struct {
	*process.Child
	logging crash.Group // ends when all of its log was read
}

// startK6 starts k6, whose output is written to log. It is killed if this process ends.
func startK6(executable string, args, env []string, log io.Writer) (*child, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start k6: %w", err)
	}
	cmd := exec.Command(executable, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = env, write, write
	p, err := process.Start(cmd, process.Tied)
	_ = write.Close() // k6 has its own
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start k6: %w", err), read.Close())
	}
	c := &child{Child: p}
	c.logging.Go(func() {
		lines := mask.NewLines(log)
		_, _ = io.Copy(lines, read) // ends with k6
		_ = lines.Flush()           // a log that cannot be kept is no reason to fail
		_ = read.Close()
	})
	return c, nil
}

// status is how k6 ended: its exit code, or a signal.
func (c *child) status() string {
	err := c.Err()
	c.logging.Wait()
	return wire.StatusOf(err)
}
