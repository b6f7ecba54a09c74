//go:build live

package run_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// commandLines returns the command lines of all processes, by pid; each argument ends with
// a zero byte.
func commandLines(t *testing.T) map[int]string {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(paths) == 0 {
		t.Fatalf("find processes: %d, %v", len(paths), err)
	}
	lines := map[int]string{}
	for _, path := range paths {
		line, _ := os.ReadFile(path) // the process may have exited; a zombie has none
		if pid, err := strconv.Atoi(strings.Split(path, "/")[2]); err == nil && len(line) > 0 {
			lines[pid] = string(line)
		}
	}
	return lines
}

// workers returns the pids of a run's workers, by number. They are found by the run id on
// their command lines, because their parent may have exited.
func workers(t *testing.T, id string) map[int]int {
	t.Helper()
	found := map[int]int{}
	for pid, line := range commandLines(t) {
		for i := range 8 {
			if strings.Contains(line, "\x00ASSAY_RUN="+id+"\x00") && strings.Contains(line, fmt.Sprintf("\x00ASSAY_WORKER=%d\x00", i)) {
				found[i] = pid
			}
		}
	}
	return found
}

// worker waits for a worker's process and returns its pid.
func worker(t *testing.T, id string, i int) int {
	t.Helper()
	for range 200 {
		if pid, ok := workers(t, id)[i]; ok {
			return pid
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Errorf("worker %d did not start", i)
	return -1
}

var createdBy = regexp.MustCompile(`(?m)^created by (\S+)`)

// goroutines counts goroutines by the function that created them.
func goroutines() map[string]int {
	buffer := make([]byte, 16<<20)
	stacks := buffer[:runtime.Stack(buffer, true)]
	count := map[string]int{}
	for _, found := range createdBy.FindAllSubmatch(stacks, -1) {
		count[string(found[1])]++
	}
	return count
}

// leakedGoroutines waits up to limit for goroutines to end, and lists those in excess of
// before.
func leakedGoroutines(before map[string]int, limit time.Duration) (leaked string) {
	for deadline := time.Now().Add(limit); ; time.Sleep(100 * time.Millisecond) {
		leaked = ""
		for by, n := range goroutines() {
			if n > before[by] {
				leaked += fmt.Sprintf("%d more by %s\n", n-before[by], by)
			}
		}
		if leaked == "" || time.Now().After(deadline) {
			return leaked
		}
	}
}
