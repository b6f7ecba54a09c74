//go:build live

package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"time"
)

// small is a plan of 10 VUs, large one of 20,000 in two workers.
var (
	small   = Size{Profile: "small", Workers: 1, WorkerVUs: 10, Peak: 10, Arrivals: 1000, Duration: 100 * time.Second}
	large   = Size{Profile: "large", Workers: 2, WorkerVUs: 10_000, Peak: 10_000, Arrivals: 1_000_000, Duration: 100 * time.Second, Ledger: true}
	withSQL = Size{Profile: "sql", Workers: 1, WorkerVUs: 10, Peak: 10, Database: true}
)

// expect compares a finding's state, and looks for words in its reason. A finding that is
// not OK must have a reason and a remedy, in one line each.
func expect(t *testing.T, f Finding, state State, words string) {
	t.Helper()
	if f.State != state || !strings.Contains(f.Why, words) || f.Observed == "" {
		t.Errorf("%+v, want %s with %q", f, state, words)
	}
	if wrong := f.State != OK; wrong != (f.Why != "") || wrong != (f.Remedy != "") || strings.Contains(f.Why+f.Remedy, "\n") {
		t.Errorf("%s: why %q, remedy %q", f.State, f.Why, f.Remedy)
	}
}

func TestDescriptors(t *testing.T) {
	for _, c := range []struct {
		have  uint64
		sizes []Size
		state State
		words string
	}{
		{0, []Size{small}, Warning, "cannot be read"},
		{64, []Size{minimalSize}, Lacking, "64 per process, and a worker needs 74"},
		{73, []Size{small}, Lacking, "a worker for small needs 74"},
		{74, []Size{small}, Warning, "only if the script connects to a single host"},
		{83, []Size{small}, Warning, "single host"},
		{84, []Size{small}, OK, ""},
		{83, []Size{withSQL}, Lacking, "needs 84"}, // with connections to the database
		{10_063, []Size{small, large}, Lacking, "a worker for large needs 10064"},
		{20_064, []Size{large, small}, OK, ""}, // the limit is per worker
		{1024, coordinators([]Size{{Profile: "fleet", Workers: 241, WorkerVUs: 9}}), Lacking, "the coordinator for fleet needs 1028, with connections of 241 workers"},
		{1024, coordinators([]Size{{Profile: "fleet", Workers: 240, WorkerVUs: 9}}), OK, ""},
	} {
		t.Run(fmt.Sprint(c.have, c.sizes[0].Profile), func(t *testing.T) { expect(t, descriptors(c.have, c.sizes), c.state, c.words) })
	}
}

func TestMemory(t *testing.T) {
	light, heavy := large.Memory()
	for _, c := range []struct {
		free  int64
		state State
		words string
	}{
		{-1, Warning, "cannot be read"},
		{0, Lacking, "0 B of memory is available, and 20000 VUs for large need at least 5"}, // a cgroup at its limit
		{light - 1, Lacking, "20000 VUs for large need at least 5"},
		{light, Warning, "may need"},
		{2*heavy - 1, Warning, "may need"},
		{2 * heavy, OK, ""},
	} {
		t.Run(fmt.Sprint(c.free), func(t *testing.T) { expect(t, memory(c.free, []Size{small, large}), c.state, c.words) })
	}
}

// A high rate is only a warning: whether it was too high is known after the run.
func TestCPUs(t *testing.T) {
	for _, c := range []struct {
		have  int
		peak  float64
		state State
		words string
	}{
		{1, 900, OK, ""},
		{1, 1000, Warning, "if a transaction is more than one simple request"},
		{2, 1900, OK, ""},
		{2, 12_000, Warning, "needs at least 1.04 of 2 CPUs, more than half"},
		{64, 12_000, OK, ""},
		{1, 1e6, Warning, "a rate of 1000000/s for fast needs at least 83.4 of 1 CPUs"},
	} {
		t.Run(fmt.Sprint(c.have, c.peak), func(t *testing.T) {
			expect(t, cpus(c.have, []Size{small, {Profile: "fast", Workers: 1, Peak: c.peak}}), c.state, c.words)
		})
	}
}

func TestPorts(t *testing.T) {
	usual := Ports{Low: 32768, High: 60999} // 28,232
	for name, c := range map[string]struct {
		ports      Ports
		local      bool
		reconnects bool
		size       Size
		state      State
		words      string
	}{
		"not known":              {Ports{}, false, false, small, Warning, "cannot be read"},
		"enough":                 {usual, false, false, large, OK, ""},
		"exactly enough":         {Ports{Low: 1, High: 20_100, Taken: 100}, false, false, large, OK, ""},
		"one too few":            {Ports{Low: 1, High: 20_100, Taken: 101}, false, false, large, Lacking, "19999 local ports are left for connections to the target, and the VUs for large need 20000"},
		"none":                   {Ports{Low: 1, High: 9, Taken: 30}, false, false, small, Lacking, "0 local ports"},
		"reconnects":             {usual, false, true, Size{Profile: "p", Workers: 1, WorkerVUs: 10, Peak: 471}, Warning, "a script that reconnects needs 28270"},
		"reconnects, slowly":     {usual, false, true, Size{Profile: "p", Workers: 1, WorkerVUs: 10, Peak: 470}, OK, ""},
		"reconnects, loopback":   {usual, true, true, Size{Profile: "p", Workers: 1, WorkerVUs: 10, Peak: 5000}, OK, ""},
		"another one reconnects": {usual, false, false, Size{Profile: "q", Workers: 1, WorkerVUs: 10, Peak: 5000}, OK, ""},
	} {
		t.Run(name, func(t *testing.T) {
			expect(t, ports(c.ports, c.local, map[string]bool{"p": c.reconnects}, []Size{c.size}), c.state, c.words)
		})
	}
}

func TestFolderAndDisk(t *testing.T) {
	readOnly := &fs.PathError{Op: "mkdir", Path: "runs", Err: syscall.EROFS}
	expect(t, folder(Folder{Path: "runs", Err: readOnly}), Lacking, "run folder runs cannot be written: read-only file system")
	expect(t, folder(Folder{Path: "runs"}), OK, "")

	record, outage := large.Disk()
	smaller, more := small.Disk()
	for _, c := range []struct {
		free  int64
		state State
		words string
	}{
		{-1, Warning, "cannot be read"},
		{0, Lacking, "has 0 B free, and the record needs about 46.9 MiB"},
		{record + smaller - 1, Lacking, "the record needs about"},
		{record + smaller, Warning, "if every transaction fails"},
		{outage + more, OK, ""},
	} {
		t.Run(fmt.Sprint(c.free), func(t *testing.T) {
			expect(t, disk(Folder{Path: "runs", Free: c.free, Files: -1}, []Size{small, large}), c.state, c.words)
		})
	}
	// Each run has files of its own, and of each worker.
	for files, state := range map[int64]State{0: Lacking, 53: Lacking, 54: OK, -1: OK} {
		expect(t, disk(Folder{Path: "runs", At: "/mnt", Free: outage + more, Files: files}, []Size{small, large}), state,
			map[State]string{Lacking: fmt.Sprintf("the disk of runs has inodes for %d more files, and the record may need 54", files)}[state])
	}
}

// Lacking returns the first finding of this state.
func TestFindings(t *testing.T) {
	all := Findings{pass("a", "x", ""), warn("b", "x", "", "w", "r"), fail("c", "x", "", "first", "r"), fail("d", "x", "", "second", "r")}
	all[1].Limitation = "l"
	if f, lacking := all.Lacking(); !lacking || f.Why != "first" {
		t.Errorf("lacking: %+v", f)
	}
	if _, lacking := all[:2].Lacking(); lacking {
		t.Error("a warning is reported as lacking")
	}
	if all.Count(Lacking) != 2 || all.Count(Warning) != 1 || !all.HasWarning("b") || all.HasWarning("c") || len(all.Limitations()) != 1 {
		t.Errorf("%+v", all)
	}
	if reason(errors.New("open: dial: refused")) != "refused" {
		t.Error("reason is not the root cause")
	}
}
