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

// commandLines are those of all processes, by pid; arguments end with a zero
// byte each.
func commandLines(t *testing.T) map[int]string {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(paths) == 0 {
		t.Fatalf("find processes: %d, %v", len(paths), err)
	}
	lines := map[int]string{}
	for _, path := range paths {
		line, _ := os.ReadFile(path) // the process may have ended; a zombie's is empty
		if pid, err := strconv.Atoi(strings.Split(path, "/")[2]); err == nil && len(line) > 0 {
			lines[pid] = string(line)
		}
	}
	return lines
}

// workers are the processes of a run's workers, by their number. They carry the
// run's id on their command line, whoever their parent is by now.
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

// worker waits for a worker's process.
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

// goroutines counts goroutines by what created them.
func goroutines() map[string]int {
	buffer := make([]byte, 16<<20)
	stacks := buffer[:runtime.Stack(buffer, true)]
	count := map[string]int{}
	for _, found := range createdBy.FindAllSubmatch(stacks, -1) {
		count[string(found[1])]++
	}
	return count
}

// remaining tells which goroutines there are that were not there before, once
// they have had some time to end.
func remaining(before map[string]int, limit time.Duration) (left string) {
	for deadline := time.Now().Add(limit); ; time.Sleep(100 * time.Millisecond) {
		left = ""
		for by, n := range goroutines() {
			if n > before[by] {
				left += fmt.Sprintf("%d more by %s\n", n-before[by], by)
			}
		}
		if left == "" || time.Now().After(deadline) {
			return left
		}
	}
}
