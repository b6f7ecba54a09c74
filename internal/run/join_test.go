//go:build live

package run_test

import (
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"assay.dev/assay/internal/load/fleet"
	"assay.dev/assay/internal/run"
	"assay.dev/assay/internal/servers/process"
)

// joinToken is the token of runs whose workers join by themselves.
const joinToken = "token-of-a-test-0123456789"

// awaitJoin lets the workers of a run join by themselves. With the first line of the run
// that says how, join is called with the coordinator's URL.
func awaitJoin(o *run.Options, join func(url string)) {
	o.Join.Remote, o.Join.Token, o.Engine = true, joinToken, fleet.Others{}
	progress := o.Progress
	var once sync.Once
	o.Progress = func(e run.Event) {
		if _, url, found := strings.Cut(e.Text, " assay worker --join "); found && e.Kind == run.Step {
			once.Do(func() { join(url) })
		}
		progress(e)
	}
}

// startWorker starts a worker of the test binary, whose temporary files are in dir.
func startWorker(t *testing.T, executable, url, dir string, env ...string) *process.Child {
	t.Helper()
	cmd := exec.Command(executable, "worker", "--join", url, "--dir", dir)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "ASSAY_JOIN_TOKEN=" + joinToken}, env...)
	return startLogged(t, cmd)
}

// logs are the files of the output of startLogged's commands, by pid.
var logs sync.Map

// logOf is what a command has printed.
func logOf(pid int) string {
	path, _ := logs.Load(pid)
	text, _ := os.ReadFile(path.(string))
	return string(text)
}

// startLogged starts a command, whose output is logged if the test fails.
func startLogged(t *testing.T, cmd *exec.Cmd) *process.Child {
	t.Helper()
	log, err := os.CreateTemp(t.TempDir(), "output")
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	child, err := process.Start(cmd, process.Tied)
	if err != nil {
		t.Fatal(err)
	}
	logs.Store(child.PID, log.Name())
	t.Cleanup(func() {
		_ = child.Kill()
		if t.Failed() {
			t.Logf("%s:\n%s", strings.Join(cmd.Args, " "), logOf(child.PID))
		}
		_ = log.Close()
	})
	return child
}

func executable(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}
