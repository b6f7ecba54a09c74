package budget

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// share of the machine's CPUs that all tests may use; the rest is for the machine's
	// own work, and for moments in which tests need more than their average.
	share = 0.75
	// unit is the smallest number of CPUs that is shared out.
	unit = 0.05
)

// MeasureEnv makes each test run alone, and log how many CPUs it has used.
const MeasureEnv = "ASSAY_TEST_MEASURE"

// holders are the names of the tests that have declared their CPUs.
var holders sync.Map

// CPUs waits until this many CPUs are free, and takes them until the test ends. A test that
// needs more than all tests may use runs alone. It is called once, before the test starts
// anything: a test that waited with CPUs in hand could wait for ever.
func CPUs(t testing.TB, n float64) {
	t.Helper()
	once(t)
	release, err := Take(n, t.Logf)
	if err != nil {
		t.Fatalf("wait for CPUs: %v", err)
	}
	t.Cleanup(release)
}

// Take is CPUs for what is not a test, or only a part of one: until release is called. With
// MeasureEnv, log gets what was used.
func Take(n float64, log func(format string, args ...any)) (release func(), err error) {
	all := int(share * float64(runtime.NumCPU()) / unit)
	units := max(1, int(min(n/unit+0.5, float64(all))))
	measured := os.Getenv(MeasureEnv) != ""
	if measured {
		units = all
	}
	p, err := openPool(filepath.Join(os.TempDir(), fmt.Sprintf("assay-test-cpus-%d", os.Getuid())), all)
	if err != nil {
		return nil, err
	}
	if err := p.take(units); err != nil {
		p.close()
		return nil, err
	}
	start, before := time.Now(), cpuTime()
	return func() {
		p.close()
		if measured {
			used, took := cpuTime()-before, time.Since(start)
			log("declared %.2f CPUs, used %.2f: %.1f s in %.1f s", n, used.Seconds()/took.Seconds(), used.Seconds(), took.Seconds())
		} else {
			log("held %.2f CPUs for %.1f s", n, time.Since(start).Seconds())
		}
	}, nil
}

// once fails a test that declares its CPUs again, or after the test that it is a part of.
func once(t testing.TB) {
	t.Helper()
	for name := t.Name(); ; {
		if _, held := holders.Load(name); held {
			t.Fatalf("%s has declared its CPUs already", name)
		}
		i := strings.LastIndexByte(name, '/')
		if i < 0 {
			break
		}
		name = name[:i]
	}
	holders.Store(t.Name(), true)
	t.Cleanup(func() { holders.Delete(t.Name()) })
}

// cpuTime is the CPU time of this process and of all its processes that have ended.
func cpuTime() (d time.Duration) {
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var u unix.Rusage
		if err := unix.Getrusage(who, &u); err == nil {
			d += time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
	}
	return d
}
