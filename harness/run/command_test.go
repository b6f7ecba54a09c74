package run_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"assay/harness/observe/record"
)

const steadyThresholds = `{"version": 1, "profiles": {"steady": {
  "description": "a steady load", "scenario": "script.js", "timeout": "5s",
  "load": {"unit": "tps", "target": 50, "warmup": "2s", "baseline": {"rate": 50, "for": "1s"}, "ramp": "0s", "hold": "20s", "cooldown": "1s"},
  "slo": {"transaction_duration": ["p(95)<250"]}
}}}`

// assay is a certify command in a process of its own.
type assay struct {
	cmd    *exec.Cmd
	dir    string
	out    string // the run folder
	stdout bytes.Buffer
	stderr *os.File

	requests atomic.Int64 // received by the target
}

// startAssay starts to certify the steady load.
func startAssay(t *testing.T, executable, script string) *assay {
	t.Helper()
	a := &assay{dir: t.TempDir()}
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { a.requests.Add(1) }))
	t.Cleanup(server.Close)
	a.out = filepath.Join(a.dir, "run")
	for name, content := range map[string]string{"thresholds.json": steadyThresholds, "script.js": script} {
		if err := os.WriteFile(filepath.Join(a.dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if a.stderr, err = os.Create(filepath.Join(a.dir, "stderr")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.stderr.Close() })
	a.cmd = exec.Command(executable, "certify", "steady", "--thresholds", "thresholds.json", "--target", server.URL, "--out", a.out, "--json")
	a.cmd.Dir, a.cmd.Stdout, a.cmd.Stderr = a.dir, &a.stdout, a.stderr
	a.cmd.Env = append(os.Environ(), "ASSAY_DB=", "TMPDIR="+a.dir) // by which workers are found
	if err := a.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.cmd.Process.Kill(); _ = a.cmd.Wait() }) // where the test has failed before its end
	return a
}

// awaitStderr waits until the command has printed the text to stderr.
func (a *assay) awaitStderr(t *testing.T, text string) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if output, err := os.ReadFile(a.stderr.Name()); err == nil && strings.Contains(string(output), text) {
			return
		}
	}
	output, _ := os.ReadFile(a.stderr.Name())
	t.Fatalf("the command did not print %q: %s", text, output)
}

// workers returns the pids of the run's workers. Only the command knows the run id, so
// they are found by its folder in their command lines.
func (a *assay) workers(t *testing.T) (pids []int) {
	t.Helper()
	for pid, args := range commandLines(t) {
		if strings.Contains(args, "ASSAY_RUN=") && strings.Contains(args, a.dir) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// checkLoadEnds fails the test unless the load ends with the killed command, long before its
// schedule of 20 s. The workers may still try to send their last frames, and are killed.
func (a *assay) checkLoadEnds(t *testing.T) {
	t.Helper()
	before, more := int64(0), int64(-1)
	for deadline := time.Now().Add(5 * time.Second); more != 0 && time.Now().Before(deadline); {
		before = a.requests.Load()
		time.Sleep(1500 * time.Millisecond)
		more = a.requests.Load() - before
	}
	if more != 0 || before == 0 {
		t.Errorf("the target received %d requests, and then %d more", before, more)
	}
	for _, pid := range a.workers(t) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// Ctrl-C ends the command and its workers, with exit code 130. If the command is killed,
// its workers stop their load.
func TestCommandInterrupted(t *testing.T) {
	t.Parallel()
	executable := filepath.Join(t.TempDir(), "assay")
	if out, err := exec.Command("go", "build", "-o", executable, "assay/harness/cmd/assay").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	for _, c := range []struct {
		name   string
		script string
		after  string // text on stderr to wait for
		signal syscall.Signal
		code   int // -1: killed
	}{
		{"while VUs initialise", slowInit, "initialising", syscall.SIGINT, 130},
		{"under load", getScript, "steady: hold", syscall.SIGINT, 130},
		{"by SIGTERM", getScript, "steady: warm-up", syscall.SIGTERM, 130},
		{"killed", getScript, "steady: hold", syscall.SIGKILL, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := startAssay(t, executable, c.script)
			a.awaitStderr(t, c.after)
			for begin := time.Now(); len(a.workers(t)) == 0 && time.Since(begin) < stopBound; {
				time.Sleep(50 * time.Millisecond)
			}
			if err := a.cmd.Process.Signal(c.signal); err != nil {
				t.Fatal(err)
			}
			at := time.Now()
			_ = a.cmd.Wait() // the exit code is checked below
			if code := a.cmd.ProcessState.ExitCode(); code != c.code || time.Since(at) > stopBound {
				t.Errorf("exit %d after %s, want %d", code, time.Since(at), c.code)
			}
			if c.code < 0 {
				a.checkLoadEnds(t)
			} else if left := a.workers(t); len(left) > 0 {
				t.Errorf("workers are left: %v", left)
			}
			r, err := record.Open(a.out)
			switch {
			case c.after == "initialising":
				if _, err := os.Stat(a.out); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("the run folder is left: %v", err)
				}
			case c.code < 0:
				if !errors.Is(err, record.ErrNotSealed) {
					t.Errorf("the record of a killed command: %v", err)
				}
			default:
				var printed struct{ Verdict string }
				if jsonErr := json.Unmarshal(a.stdout.Bytes(), &printed); jsonErr != nil || err != nil || printed.Verdict != "INVALID" || !r.Facts.Interrupted {
					t.Errorf("verdict %q, %v, record %v: %s", printed.Verdict, jsonErr, err, a.stdout.Bytes())
				}
			}
		})
	}
}
