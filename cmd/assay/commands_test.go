//go:build live

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"assay.dev/assay/internal/testing/comparetest"

	"assay.dev/assay/internal/cli"

	"github.com/rogpeppe/go-internal/testscript"

	"assay.dev/assay/internal/testing/budget"
)

// commands are the scripts' commands in addition to those of testscript.
var commands = map[string]func(*testscript.TestScript, bool, []string){
	"cpus":                cpus,
	"exits":               exits,
	"refused":             refused,
	"interrupt":           interrupt,
	"interrupt-twice":     interruptTwice,
	"terminate":           terminate,
	"quit":                quit,
	"terminate-reading":   terminateReading,
	"keeps-secret":        keepsSecret,
	"absent":              absent,
	"requests":            requests,
	"await-http":          awaitHTTP,
	"edit":                edit,
	"truncate":            truncateFile,
	"flip-bit":            flipBit,
	"sum":                 sum,
	"fault":               fault,
	"other-host-requests": otherHostRequests,
	"query":               query,
	"take-connections":    takeConnections,
	"release-connections": releaseConnections,
	"mount-tmpfs":         mountTmpfs,
	"no-processes":        noProcesses,
	"await-file":          awaitFile,
	"write-block":         writeBlock,
	"run-blocks":          runBlocks,
	"run-job":             runJob,
	"influx-sum":          influxSum,
	"influx-has":          influxHas,
	"leave-connections":   leaveConnections,
	"synthetic-runs":      syntheticRuns,
	"recorded-run":        recordedRun,
	"other-client-works":  otherClientWorks,
	"leaves-no-trace":     leavesNoTrace,
	"record-influx":       recordInflux,
}

// cpus NUMBER waits for the CPUs that the script needs on average: its first command.
func cpus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: cpus NUMBER")
	}
	n, err := strconv.ParseFloat(args[0], 64)
	ts.Check(err)
	release, err := budget.Take(n, ts.Logf)
	ts.Check(err)
	ts.Defer(release)
}

// exits CODE COMMAND... fails unless the command exits with that code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if got := exitCodeOf(ts, ts.Exec(args[1], args[2:]...)); got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

func exitCodeOf(ts *testscript.TestScript, err error) int {
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		ts.Check(err)
	}
	if exit == nil {
		return 0
	}
	return exit.ExitCode()
}

// refusalLimit is how long a command may take to refuse its input: longer is a hang.
const refusalLimit = time.Minute

// refusalPattern is the stderr of a refused command: one line, and one for its hint,
// possibly after a line of progress from the stack. A file may have several errors,
// each with its hint.
var refusalPattern = regexp.MustCompile(`\A(?:stack: [^\n]*\n)?assay: [^\n]+\n(?:hint: [^\n]+\n)?(?:assay: (?:[^\n]+\.json:|profiles\.)[^\n]+\n(?:hint: [^\n]+\n)?)*(?:assay: there are \d+ more errors\n)?\z`)

// refused COMMAND... fails unless the command exits with 2, within refusalLimit, prints
// nothing to stdout and one line with an optional hint to stderr, and leaves the files
// and processes of the script as they were.
func refused(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: refused COMMAND...")
	}
	files, processes, start := filesUnder(ts), scriptProcesses(ts), time.Now()
	code := exitCodeOf(ts, ts.Exec(args[0], args[1:]...))
	took := time.Since(start)
	if code != cli.ExitError {
		ts.Fatalf("exit code %d, want %d", code, cli.ExitError)
	}
	if out := ts.ReadFile("stdout"); out != "" {
		ts.Fatalf("stdout is %q, want nothing", out)
	}
	if errors := ts.ReadFile("stderr"); !refusalPattern.MatchString(errors) {
		ts.Fatalf("stderr is not one line with a hint:\n%s", errors)
	}
	if after := filesUnder(ts); !slices.Equal(files, after) {
		ts.Fatalf("files before:\n%s\nafter:\n%s", strings.Join(files, "\n"), strings.Join(after, "\n"))
	}
	if after := scriptProcesses(ts); !maps.Equal(processes, after) {
		ts.Fatalf("processes before: %v, after: %v", processes, after)
	}
	if took > refusalLimit {
		ts.Fatalf("it took %s, want at most %s", took, refusalLimit)
	}
}

func filesUnder(ts *testscript.TestScript) (all []string) {
	ts.Check(filepath.WalkDir(ts.Getenv("WORK"), func(path string, _ fs.DirEntry, err error) error {
		all = append(all, path)
		return err
	}))
	return all
}

// scriptProcesses returns the command lines, by pid, of the processes whose working
// directory is below the script's folder, as that of every process it starts.
func scriptProcesses(ts *testscript.TestScript) map[string]string {
	found := map[string]string{}
	work := ts.Getenv("WORK")
	for pid := range processes() {
		cwd, _ := os.Readlink(filepath.Join("/proc", pid, "cwd")) // it may have ended
		if cwd == work || strings.HasPrefix(cwd, work+"/") {
			line, _ := os.ReadFile(filepath.Join("/proc", pid, "cmdline"))
			// A process that is exiting has no command line any more.
			if len(line) > 0 {
				found[pid] = string(bytes.ReplaceAll(line, []byte{0}, []byte(" ")))
			}
		}
	}
	return found
}

func processes() map[string]bool {
	pids := map[string]bool{}
	folders, _ := filepath.Glob("/proc/[0-9]*") // the pattern is well formed
	for _, f := range folders {
		pids[filepath.Base(f)] = true
	}
	return pids
}

// interrupt PATTERN COMMAND... sends the command SIGINT, as Ctrl-C does, once its stderr
// matches the pattern. It fails unless the command exits with 130 and leaves no process.
func interrupt(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: interrupt PATTERN COMMAND...")
	}
	interruptAt(ts, syscall.SIGINT, args[:1], args[1:])
}

// terminate PATTERN COMMAND... does the same with SIGTERM.
func terminate(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: terminate PATTERN COMMAND...")
	}
	interruptAt(ts, syscall.SIGTERM, args[:1], args[1:])
}

// quit PATTERN COMMAND... does the same with SIGQUIT, as Ctrl-\ does.
func quit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: quit PATTERN COMMAND...")
	}
	interruptAt(ts, syscall.SIGQUIT, args[:1], args[1:])
	if text := ts.ReadFile(filepath.Join(ts.MkAbs(".tmp"), "interrupted")); strings.Contains(text, "goroutine") {
		ts.Fatalf("stderr has stacks:\n%s", text)
	}
}

// terminate-reading PIPE COMMAND... makes the pipe, and sends the command SIGTERM once it
// reads from it. It fails unless the command then exits with 130, whatever the pipe's writer
// does.
func terminateReading(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: terminate-reading PIPE COMMAND...")
	}
	pipe, pidFile := ts.MkAbs(args[0]), filepath.Join(ts.MkAbs(".tmp"), "reading.pid")
	ts.Check(syscall.Mkfifo(pipe, 0o644))
	done := make(chan error, 1)
	go func() {
		done <- ts.Exec("sh", append([]string{"-c", `echo $$ >"$0"; exec "$@"`, pidFile}, args[1:]...)...)
	}()
	opened := make(chan *os.File, 1)
	go func() {
		if f, err := os.OpenFile(pipe, os.O_WRONLY, 0); err == nil { // waits for a reader
			opened <- f
		}
	}()
	select {
	case f := <-opened:
		defer f.Close()
	case <-done:
		ts.Fatalf("%v did not read the pipe", args[1:])
	case <-time.After(refusalLimit):
		ts.Fatalf("%v does not read the pipe", args[1:])
	}
	pid, err := strconv.Atoi(strings.TrimSpace(ts.ReadFile(pidFile)))
	ts.Check(err)
	ts.Check(syscall.Kill(pid, syscall.SIGTERM))
	select {
	case err := <-done:
		if code := exitCodeOf(ts, err); code != cli.ExitInterrupted {
			ts.Fatalf("exit code %d, want %d", code, cli.ExitInterrupted)
		}
	case <-time.After(refusalLimit):
		_ = syscall.Kill(pid, syscall.SIGKILL)
		ts.Fatalf("%v does not hear SIGTERM", args[1:])
	}
	ts.Check(os.Remove(pipe))
}

// forceStopLimit is how long a command may take after a second interrupt: far more than
// it needs, and less than workers may take after the first.
const forceStopLimit = 40 * time.Second

// interrupt-twice PATTERN PATTERN COMMAND... does the same with a second SIGINT, after
// which the command must end within forceStopLimit.
func interruptTwice(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: interrupt-twice PATTERN PATTERN COMMAND...")
	}
	if took := interruptAt(ts, syscall.SIGINT, args[:2], args[2:]); took > forceStopLimit {
		ts.Fatalf("it took %s after the second interrupt", took)
	}
}

// interruptAt sends a command the signal at each of the patterns in turn, and returns how
// long it ran after the last one.
func interruptAt(ts *testscript.TestScript, signal syscall.Signal, patterns, command []string) time.Duration {
	before := scriptProcesses(ts)
	stderr := filepath.Join(ts.MkAbs(".tmp"), "interrupted")
	_ = os.Remove(stderr) // may be left by an earlier interrupt
	// By exec the shell's pid becomes that of the command.
	done := make(chan error, 1)
	go func() {
		done <- ts.Exec("sh", append([]string{"-c", `echo $$ >"$0.pid"; exec "$@" 2>"$0"`, stderr}, command...)...)
	}()
	for _, p := range patterns {
		pattern := regexp.MustCompile(p)
		waitUntil(ts, fmt.Sprintf("%s never printed %s", command[0], p), func() bool {
			output, _ := os.ReadFile(stderr)
			return pattern.Match(output)
		})
		pid, err := strconv.Atoi(strings.TrimSpace(ts.ReadFile(stderr + ".pid")))
		ts.Check(err)
		ts.Check(syscall.Kill(pid, signal))
	}
	last := time.Now()
	if code := exitCodeOf(ts, <-done); code != cli.ExitInterrupted {
		ts.Fatalf("exit code %d, want %d; stderr:\n%s", code, cli.ExitInterrupted, ts.ReadFile(stderr))
	}
	took := time.Since(last)
	if after := scriptProcesses(ts); !maps.Equal(before, after) {
		ts.Fatalf("processes before: %v, after: %v", before, after)
	}
	return took
}

// requests COUNT fails unless the script's service has received exactly that many requests
// of load.
func requests(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: requests COUNT")
	}
	if got := strconv.FormatInt(ts.Value(serviceKey{}).(*service).load.Load(), 10); got != args[0] {
		ts.Fatalf("%s requests were received, want %s", got, args[0])
	}
}

// leave-connections COUNT makes the database accept only that many more connections.
func leaveConnections(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: leave-connections COUNT")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	ts.Check(scriptDatabase(ts).leaveConnections(n))
}

// await-http URL [PATTERN] waits until the URL answers with 2xx, and with a body of which a
// line matches the pattern, and prints the body to stdout.
func awaitHTTP(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: await-http URL [PATTERN]")
	}
	pattern, err := regexp.Compile("(?m)" + strings.Join(args[1:], ""))
	ts.Check(err)
	waitUntil(ts, args[0]+" does not answer, or not as expected", func() bool {
		body, err := httpGet(args[0])
		if err != nil || !pattern.Match(body) {
			return false
		}
		_, err = ts.Stdout().Write(body)
		ts.Check(err)
		return true
	})
}

// waitUntil polls a condition for a minute, and then fails the script with the problem.
func waitUntil(ts *testscript.TestScript, problem string, met func() bool) {
	for deadline := time.Now().Add(time.Minute); !met(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			ts.Fatalf("%s", problem)
		}
	}
}

func httpGet(url string) ([]byte, error) {
	resp, err := http.Get(url)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() // read only
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode/100 != 2 {
		err = fmt.Errorf("%s answers %s: %s", url, resp.Status, body)
	}
	return body, err
}

// synthetic-runs DIR ORDER FACTOR writes synthetic records to DIR/A and DIR/B, of runs
// made in an order like ABBA; latencies of B are longer by the factor.
func syntheticRuns(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: synthetic-runs DIR ORDER FACTOR")
	}
	factor, err := strconv.ParseFloat(args[2], 64)
	ts.Check(err)
	ts.Check(comparetest.Write(ts.MkAbs(args[0]), args[1], factor))
}
