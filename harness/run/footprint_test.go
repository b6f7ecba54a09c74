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

// footprint counts what this process holds, by what it is.
type footprint struct {
	goroutines, descriptors, children, files map[string]int
}

// takeFootprint looks at this process and at folders that a run might leave
// something in.
func takeFootprint(t *testing.T, folders ...string) footprint {
	t.Helper()
	return footprint{goroutines: goroutines(), descriptors: descriptors(t), children: children(t), files: files(t, folders)}
}

// beyond tells what there is more than there was before, a line each.
func (f footprint) beyond(before footprint) string {
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

// descriptors are the open ones of this process; sockets by what they do.
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
			continue // that of the reading itself
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

// sockets are the TCP sockets of this network, by how a descriptor names them.
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

// children are the processes whose parent this one is: its own, and, as it
// adopts them, what those have left. A zombie is one too.
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
			continue // it has ended meanwhile
		}
		name := stat.Comm
		if stat.State == "Z" {
			name += " (zombie)"
		}
		count[name]++
	}
	return count
}

// numbers differ from run to run in the names of files that mean the same.
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

// heap is what is in use after collection.
func heap() float64 {
	runtime.GC()
	runtime.GC() // what finalizers and pools held on to through the first
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// growth is the median of the slopes between all pairs of values (Theil and
// Sen): what one is more than the one before, whatever a few of them are.
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

// settled takes footprints until there is nothing more than before, or limit
// ends.
func settled(t *testing.T, before footprint, limit time.Duration, folders ...string) (now footprint, more string) {
	t.Helper()
	for deadline := time.Now().Add(limit); ; time.Sleep(100 * time.Millisecond) {
		now = takeFootprint(t, folders...)
		if more = now.beyond(before); more == "" || time.Now().After(deadline) {
			return now, more
		}
	}
}
