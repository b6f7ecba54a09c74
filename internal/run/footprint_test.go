//go:build live

package run_test

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/procfs"
)

// footprint counts the resources of this process, by kind and name.
type footprint struct {
	goroutines, descriptors, children, files map[string]int
}

// takeFootprint counts the resources of this process, and the files in folders.
func takeFootprint(t *testing.T, folders ...string) footprint {
	t.Helper()
	return footprint{goroutines: goroutines(), descriptors: descriptors(t), children: children(t), files: files(t, folders)}
}

// excess lists what there is more than before, a line each.
func (f footprint) excess(before footprint) string {
	var more []string
	for _, kind := range []struct {
		name        string
		now, before map[string]int
	}{
		{"goroutines by", f.goroutines, before.goroutines},
		{"descriptors", f.descriptors, before.descriptors},
		{"children", f.children, before.children},
		{"files", f.files, before.files},
	} {
		for _, key := range slices.Sorted(maps.Keys(kind.now)) {
			if n := kind.now[key] - kind.before[key]; n > 0 {
				more = append(more, fmt.Sprintf("%d more %s %s", n, kind.name, key))
			}
		}
	}
	return strings.Join(more, "\n")
}

func (f footprint) String() string {
	sum := func(m map[string]int) (n int) {
		for _, v := range m {
			n += v
		}
		return n
	}
	return fmt.Sprintf("%d goroutines, %d descriptors, %d children, %d files", sum(f.goroutines), sum(f.descriptors), sum(f.children), sum(f.files))
}

// descriptors counts the open descriptors of this process; TCP sockets by their state.
func descriptors(t *testing.T) map[string]int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	known := sockets(t)
	count := map[string]int{}
	for _, e := range entries {
		kind, err := os.Readlink("/proc/self/fd/" + e.Name())
		switch {
		case err != nil:
			continue // the descriptor that ReadDir used
		case strings.HasPrefix(kind, "socket:"):
			if kind = known[kind]; kind == "" {
				kind = "socket"
			}
		case strings.HasPrefix(kind, "pipe:"):
			kind = "pipe"
		}
		count[kind]++
	}
	return count
}

// sockets returns the TCP sockets of this network namespace with their states, by the
// target of a descriptor's link.
func sockets(t *testing.T) map[string]string {
	t.Helper()
	// States as in the kernel's include/net/tcp_states.h.
	states := map[string]string{"01": "established", "08": "closed by the other side", "0A": "listening"}
	known := map[string]string{}
	for _, table := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		text, err := os.ReadFile(table)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if f := strings.Fields(line); len(f) > 9 { // number, addresses, state, ..., inode
				known["socket:["+f[9]+"]"] = "TCP socket " + cmp.Or(states[f[3]], "in state "+f[3])
			}
		}
	}
	return known
}

// children counts the child processes of this one by name: those that it started, and
// orphans of those, which it adopts as a subreaper; zombies as well.
func children(t *testing.T) map[string]int {
	t.Helper()
	all, err := procfs.AllProcs()
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, p := range all {
		stat, err := p.Stat()
		if err != nil || stat.PPID != os.Getpid() {
			continue // it has exited since
		}
		name := stat.Comm
		if stat.State == "Z" {
			name += " (zombie)"
		}
		count[name]++
	}
	return count
}

// numbers in file names differ from run to run.
var numbers = regexp.MustCompile(`[0-9]+`)

func files(t *testing.T, folders []string) map[string]int {
	t.Helper()
	count := map[string]int{}
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
			if err == nil && path != folder {
				count[filepath.Base(folder)+"/"+numbers.ReplaceAllString(strings.TrimPrefix(path, folder+"/"), "N")]++
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return count
}

// heap returns the bytes in use after garbage collection.
func heap() float64 {
	runtime.GC()
	runtime.GC() // what finalizers and sync.Pools kept during the first
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// growth returns the Theil-Sen slope: the median of the slopes between all pairs of values,
// per value, which a few outliers do not change.
func growth(values []float64) float64 {
	var slopes []float64
	for i, a := range values {
		for j, b := range values[:i] {
			slopes = append(slopes, (a-b)/float64(i-j))
		}
	}
	if len(slopes) == 0 {
		return 0
	}
	slices.Sort(slopes)
	return slopes[len(slopes)/2]
}

// awaitFootprint takes footprints until there is no excess over before, or the limit is
// reached.
func awaitFootprint(t *testing.T, before footprint, limit time.Duration, folders ...string) (now footprint, more string) {
	t.Helper()
	for deadline := time.Now().Add(limit); ; time.Sleep(100 * time.Millisecond) {
		now = takeFootprint(t, folders...)
		if more = now.excess(before); more == "" || time.Now().After(deadline) {
			return now, more
		}
	}
}
