package budget

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"assay.dev/assay/internal/testing/polltest"
)

const units = 20

func newPool(t *testing.T, dir string) *pool {
	t.Helper()
	p, err := openPool(dir, units)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// However many wait, no more units are taken than there are, and all waiters are served.
func TestUnitsAreShared(t *testing.T) {
	dir := t.TempDir()
	var inUse, most atomic.Int64
	var all sync.WaitGroup
	for i := range 60 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(i)))
			want := 1 + random.IntN(units)
			p := newPool(t, dir)
			if err := p.take(want); err != nil {
				t.Error(err)
			}
			now := inUse.Add(int64(want))
			for {
				if m := most.Load(); now <= m || most.CompareAndSwap(m, now) {
					break
				}
			}
			inUse.Add(int64(-want))
			p.close()
		})
	}
	all.Wait()
	if most.Load() > units || inUse.Load() != 0 {
		t.Errorf("%d units were in use at a time, of %d; %d are left", most.Load(), units, inUse.Load())
	}
}

// waits starts one who takes this many units of the pool's folder, until end is closed, and
// returns once it waits for them.
func (p *pool) waits(t *testing.T, want int, patience time.Duration, end <-chan struct{}, served func()) {
	t.Helper()
	other := newPool(t, p.dir())
	other.patience = patience
	go func() {
		defer other.close()
		if err := other.take(want); err != nil {
			t.Error(err)
			return
		}
		served()
		<-end
	}()
	polltest.Until(t, "it waits", func() bool {
		is, err := p.locked(needs+int64(want), needs+int64(want))
		return err != nil || is
	})
}

func (p *pool) dir() string { return filepath.Dir(p.file.Name()) }

// What is free goes to the one who needs most of it; others get what is left.
func TestMostGoesFirst(t *testing.T) {
	dir := t.TempDir()
	held, rest := newPool(t, dir), newPool(t, dir)
	if err := errors.Join(held.take(15), rest.take(units-15)); err != nil {
		t.Fatal(err)
	}
	end, served := make(chan struct{}), make(chan int, 10)
	for _, want := range []int{2, 3, 4, 9, 10, 16, units} {
		held.waits(t, want, time.Hour, end, func() { served <- want })
	}
	held.close()
	for _, want := range []int{10, 4} { // 10 of 15, then 4 of the 5 that are left
		if got := <-served; got != want {
			t.Errorf("one who needs %d was served, want %d", got, want)
		}
	}
	time.Sleep(3 * pollEvery)
	if len(served) > 0 {
		t.Errorf("one who needs %d was served with 1 unit", <-served)
	}
	rest.close()
	close(end)
	for range 5 {
		<-served
	}
}

// The bytes of the units of a machine with 256 CPUs are not those of anybody's needs.
func TestManyUnits(t *testing.T) {
	const all = 256 * 15
	dir := t.TempDir()
	one, other := newPool(t, dir), newPool(t, dir)
	one.units, other.units = all, all
	for _, want := range []int{all, all - 1, 1} {
		if err := one.take(want); err != nil {
			t.Fatal(err)
		}
		if waits, err := other.locked(needs, unitsAt-1); err != nil || waits {
			t.Errorf("one who has %d units waits: %v, %v", want, waits, err)
		}
		done, err := other.tryTake(all-want+1, false)
		if err != nil || done {
			t.Errorf("one more than all units were taken: %v", err)
		}
		one.close()
		one = newPool(t, dir)
		one.units = all
	}
	one.close()
	other.close()
}

// One who needs all is served in the end, although others never stop to take some.
func TestPatience(t *testing.T) {
	dir := t.TempDir()
	p := newPool(t, dir)
	if err := p.take(1); err != nil {
		t.Fatal(err)
	}
	end, all := make(chan struct{}), make(chan struct{})
	p.waits(t, units, 0, end, func() { close(all) })
	stop := make(chan struct{})
	var others sync.WaitGroup
	for i := range 3 { // at any time, one or two of them have some
		others.Go(func() {
			time.Sleep(time.Duration(i) * pollEvery)
			for {
				select {
				case <-stop:
					return
				default:
				}
				other := newPool(t, dir)
				if err := other.take(units / 4); err != nil {
					t.Error(err)
				}
				time.Sleep(2 * pollEvery)
				other.close()
			}
		})
	}
	p.close()
	<-all
	close(end)
	close(stop)
	others.Wait()
}

// takeEnv makes the test binary take all units of this folder, say so, and wait until it is
// killed.
const takeEnv = "ASSAY_TEST_TAKE"

func TestMain(m *testing.M) {
	if dir := os.Getenv(takeEnv); dir != "" {
		p, err := openPool(dir, units)
		if err == nil {
			err = p.take(units)
		}
		fmt.Println(err)
		time.Sleep(time.Hour)
		p.close() // until here its files are in use
	}
	os.Exit(m.Run())
}

// The units of a process that is killed are free again.
func TestKilledProcessReturnsItsUnits(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), takeEnv+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := ""
	_, _ = fmt.Fscan(out, &said)
	p := newPool(t, dir)
	defer p.close()
	if free, err := p.try(unitsAt); err != nil || said != "<nil>" || free {
		t.Errorf("the process said %q; a unit that it has can be taken: %v, %v", said, free, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait()
	if err := p.take(units); err != nil {
		t.Error(err)
	}
}

// A test that declares its CPUs twice, or within a test that has, could wait for ever.
func TestDeclaredTwice(t *testing.T) {
	CPUs(t, 0.01)
	for _, name := range []string{"TestDeclaredTwice", "TestDeclaredTwice/part"} {
		r := &recorder{TB: t, name: name}
		func() {
			defer func() { _ = recover() }()
			CPUs(r, 0.01)
		}()
		if r.failure == "" {
			t.Errorf("%s has declared its CPUs twice", name)
		}
	}
}

// recorder is a test that may fail.
type recorder struct {
	testing.TB
	name, failure string
}

func (r *recorder) Name() string { return r.name }
func (r *recorder) Fatalf(format string, args ...any) {
	r.failure = fmt.Sprintf(format, args...)
	panic(r.failure)
}
