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

	"github.com/rogpeppe/go-internal/testscript"
)

// commands are what the scripts have beside testscript's own.
var commands = map[string]func(*testscript.TestScript, bool, []string){
	"exits":           exits,
	"refused":         refused,
	"interrupt":       interrupt,
	"interrupt-twice": interruptTwice,
	"keeps":           keeps,
	"absent":          absent,
	"requests":        requests,
	"get":             get,
	"edit":            edit,
	"shorten":         shorten,
	"flip":            flip,
	"sum":             sum,
	"fault":           fault,
	"elsewhere":       elsewhere,
	"query":           query,
	"occupy":          occupy,
	"vacate":          vacate,
	"disk":            disk,
	"idle":            idle,
	"end":             end,
	"await":           await,
	"writeblock":      writeblock,
	"follow":          follow,
	"job":             job,
	"shown":           shown,
	"influx_has":      queryResult,
	"leave":           leave,
	"records":         records,
	"recorded":        recorded,
}

// exits CODE COMMAND...: the command ends with that exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if got := exitOf(ts, ts.Exec(args[1], args[2:]...)); got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

func exitOf(ts *testscript.TestScript, err error) int {
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		ts.Check(err)
	}
	if ended == nil {
		return 0
	}
	return ended.ExitCode()
}

// quick is how long the refusal of a bad input may take: longer is a hang.
const quick = 30 * time.Second

// problem is what stderr may hold then: one line, one more for the next step,
// and before them what `stack` was about to do. A file may have several errors,
// each with its next step.
var problem = regexp.MustCompile(`\A(?:stack: [^\n]*\n)?assay: [^\n]+\n(?:hint: [^\n]+\n)?(?:assay: (?:[^\n]+\.json:|profiles\.)[^\n]+\n(?:hint: [^\n]+\n)?)*(?:assay: there are \d+ more errors\n)?\z`)

// refused COMMAND...: exit code 2, nothing on stdout, one line and perhaps a
// hint on stderr; no file, folder or process more than before; and quickly.
func refused(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: refused COMMAND...")
	}
	files, processes, start := filesBelow(ts), processesIn(ts), time.Now()
	code := exitOf(ts, ts.Exec(args[0], args[1:]...))
	took := time.Since(start)
	if code != exitError {
		ts.Fatalf("exit code %d, want %d", code, exitError)
	}
	if out := ts.ReadFile("stdout"); out != "" {
		ts.Fatalf("stdout is %q, want nothing", out)
	}
	if errors := ts.ReadFile("stderr"); !problem.MatchString(errors) {
		ts.Fatalf("stderr is not one line with a hint:\n%s", errors)
	}
	if after := filesBelow(ts); !slices.Equal(files, after) {
		ts.Fatalf("files before:\n%s\nafter:\n%s", strings.Join(files, "\n"), strings.Join(after, "\n"))
	}
	if after := processesIn(ts); !maps.Equal(processes, after) {
		ts.Fatalf("processes before: %v, after: %v", processes, after)
	}
	if took > quick {
		ts.Fatalf("it took %s, want at most %s", took, quick)
	}
}

func filesBelow(ts *testscript.TestScript) (all []string) {
	ts.Check(filepath.WalkDir(ts.Getenv("WORK"), func(path string, _ fs.DirEntry, err error) error {
		all = append(all, path)
		return err
	}))
	return all
}

// processesIn are those that work below the script's folder, as all that it
// starts do, by process id.
func processesIn(ts *testscript.TestScript) map[string]string {
	found := map[string]string{}
	work := ts.Getenv("WORK")
	for pid := range processes() {
		cwd, _ := os.Readlink(filepath.Join("/proc", pid, "cwd")) // it may have ended
		if cwd == work || strings.HasPrefix(cwd, work+"/") {
			line, _ := os.ReadFile(filepath.Join("/proc", pid, "cmdline"))
			// One that is just ending has no command line any more.
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

// interrupt PATTERN COMMAND...: once a line of stderr matches the pattern, the
// command gets SIGINT, as from Ctrl-C; it ends with 130 and leaves no process.
func interrupt(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: interrupt PATTERN COMMAND...")
	}
	interruptAt(ts, args[:1], args[1:])
}

// patience is far more than what is left to do after the second interrupt, and
// less than workers have to end after the first.
const patience = 20 * time.Second

// interrupt-twice PATTERN PATTERN COMMAND...: likewise with a second SIGINT,
// after which the command ends soon.
func interruptTwice(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: interrupt-twice PATTERN PATTERN COMMAND...")
	}
	if took := interruptAt(ts, args[:2], args[2:]); took > patience {
		ts.Fatalf("it took %s after the second interrupt", took)
	}
}

// interruptAt interrupts a command at each of some patterns in turn, and tells
// what it took after the last.
func interruptAt(ts *testscript.TestScript, patterns, command []string) time.Duration {
	before := processesIn(ts)
	stderr := filepath.Join(ts.MkAbs(".tmp"), "interrupted")
	_ = os.Remove(stderr) // of the script's last interrupt
	// The shell's own process becomes the command's.
	done := make(chan error, 1)
	go func() {
		done <- ts.Exec("sh", append([]string{"-c", `echo $$ >"$0.pid"; exec "$@" 2>"$0"`, stderr}, command...)...)
	}()
	for _, p := range patterns {
		pattern := regexp.MustCompile(p)
		awaitThat(ts, fmt.Sprintf("%s never said %s", command[0], p), func() bool {
			said, _ := os.ReadFile(stderr)
			return pattern.Match(said)
		})
		pid, err := strconv.Atoi(strings.TrimSpace(ts.ReadFile(stderr + ".pid")))
		ts.Check(err)
		ts.Check(syscall.Kill(pid, syscall.SIGINT))
	}
	last := time.Now()
	if code := exitOf(ts, <-done); code != exitInterrupted {
		ts.Fatalf("exit code %d, want %d; it said:\n%s", code, exitInterrupted, ts.ReadFile(stderr))
	}
	took := time.Since(last)
	if after := processesIn(ts); !maps.Equal(before, after) {
		ts.Fatalf("processes before: %v, after: %v", before, after)
	}
	return took
}

// requests COUNT: so many requests of load have come to the script's service.
func requests(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: requests COUNT")
	}
	if got := strconv.FormatInt(ts.Value(serviceKey{}).(*service).load.Load(), 10); got != args[0] {
		ts.Fatalf("%s requests came, want %s", got, args[0])
	}
}

// leave COUNT: the database has so many connections left.
func leave(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: leave COUNT")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	ts.Check(ts.Value(databaseKey{}).(*database).leave(n))
}

// get URL: waits until something answers there with 2xx; the answer is stdout.
func get(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: get URL")
	}
	awaitThat(ts, args[0]+" does not answer", func() bool {
		answer, err := fetch(args[0])
		if err == nil {
			_, err = ts.Stdout().Write(answer)
			ts.Check(err)
		}
		return err == nil
	})
}

// awaitThat waits for something for a minute.
func awaitThat(ts *testscript.TestScript, otherwise string, is func() bool) {
	for deadline := time.Now().Add(time.Minute); !is(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			ts.Fatalf("%s", otherwise)
		}
	}
}

func fetch(url string) ([]byte, error) {
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
