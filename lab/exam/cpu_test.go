//go:build long

package exam

import (
	"os"
	"os/exec"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"assay.dev/assay/internal/testing/processtest"
)

// Parts of the system that can be confined to the first CPU.
const (
	confineGenerator = "generator"
	confineDatabase  = "database"
)

// split divides the CPUs of this process into the first and the rest.
func split() (one, rest unix.CPUSet, err error) {
	if err = unix.SchedGetaffinity(0, &rest); err != nil {
		return one, rest, err
	}
	first := first(&rest)
	one.Set(first)
	if rest.Count() > 1 {
		rest.Clear(first)
	}
	return one, rest, nil
}

func first(set *unix.CPUSet) int {
	n := 0
	for !set.IsSet(n) {
		n++
	}
	return n
}

// confine restricts a process to a set of CPUs until the test ends.
func confine(t *testing.T, pid int, set unix.CPUSet) {
	t.Helper()
	var before unix.CPUSet
	if err := unix.SchedGetaffinity(pid, &before); err != nil {
		t.Fatal(err)
	}
	move := func(set *unix.CPUSet) {
		for _, thread := range threads(t, pid) {
			_ = unix.SchedSetaffinity(thread, set) // the thread may have ended
		}
	}
	move(&set)
	t.Cleanup(func() { move(&before) })
}

// startBusyProcesses starts busy processes of a priority on the first CPU, until the
// test or this process ends.
func startBusyProcesses(t *testing.T, processes, nice int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for range processes {
		cmd := exec.Command(self, asBusy, strconv.Itoa(nice))
		cmd.Stderr = os.Stderr
		processtest.Start(t, cmd)
	}
}
