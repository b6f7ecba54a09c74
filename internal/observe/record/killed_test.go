package record

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"assay.dev/assay/internal/observe/ledger"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/testing/memorytest"
)

// childEnv holds the run folder that a child process of the tests appends to.
const childEnv = "ASSAY_TEST_RECORD"

// TestMain lets the test binary also be a process that writes a record until it is killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		fmt.Fprintln(os.Stderr, appendUntilKilled(dir))
		os.Exit(1)
	}
	memorytest.Use()
	os.Exit(m.Run())
}

// appendUntilKilled makes or continues a record, and writes the number of the last
// message of both workers after each flush. Some messages are larger than a block of
// zstd, and some flushes hold several.
func appendUntilKilled(dir string) error {
	w, r, err := Resume(dir, func(metric.Frame) error { return nil })
	if cannotResume(err) {
		_ = os.RemoveAll(dir)
		w, err = Create(dir, aPlan())
	}
	if err != nil {
		return err
	}
	frames, batches := r.Sequences, r.Batches
	for number := uint64(1); ; number++ {
		for _, source := range []string{"worker/0", "worker/1"} {
			if number > frames[source] {
				values := make([]float64, 100*(number%50))
				for i := range values {
					values[i] = rand.ExpFloat64() * 1000
				}
				if err := w.Frame(latencies(source, number, values...)); err != nil {
					return err
				}
			}
			if number > batches[source] {
				if err := w.Acknowledged(source, number, identities(source, number)); err != nil {
					return err
				}
			}
		}
		if number%3 != 0 && number > 1 {
			continue
		}
		if err := w.Flush(); err != nil {
			return err
		}
		fmt.Println(number)
	}
}

// cannotResume: the writer was killed before the record had its plan.
func cannotResume(err error) bool {
	return errors.Is(err, ErrNoRun) || errors.Is(err, ErrNoPlan) || errors.Is(err, os.ErrNotExist)
}

// identities are those of a batch; every 40th batch has 200 KB of them.
func identities(source string, number uint64) []ledger.Entry {
	n := number % 40
	if n == 39 {
		n = 4000
	}
	all := make([]ledger.Entry, n)
	for i := range all {
		all[i] = entry(fmt.Sprint(source, number, i), int64(number))
	}
	return all
}

// A writer is killed at random instants, also while it makes or continues the record,
// and another process continues it: nothing that was flushed is missing, nothing is
// twice, and the record can be sealed and opened at last.
func TestWriterIsKilled(t *testing.T) { writerIsKilled(t, 4) }

func writerIsKilled(t *testing.T, rounds int) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	var reached []uint64
	flushed := uint64(0)
	for round := range rounds {
		// A third of the processes is killed before it says anything.
		flushed = max(flushed, appendAndKill(t, dir, round%3 != 0))
		reached = append(reached, flushed)
		var found content
		w, r, err := Resume(dir, found.visitFrame)
		if cannotResume(err) && flushed == 0 {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		must(t, w.Close())
		found.readNumbers(t, dir)
		for _, source := range []string{"worker/0", "worker/1"} {
			frames, batches := r.Sequences[source], r.Batches[source]
			if frames < flushed || batches < flushed {
				t.Fatalf("%s: %d was flushed; resumed at frame %d and batch %d", source, flushed, frames, batches)
			}
			if !slices.Equal(found.of(found.Frames, source), upTo(frames)) || !slices.Equal(found.of(found.Batches, source), upTo(batches)) {
				t.Fatalf("%s: frames and batches are not 1 to %d and 1 to %d: %+v", source, frames, batches, found)
			}
		}
	}
	t.Logf("flushed up to %v", reached)
	if flushed == 0 {
		t.Fatal("no process flushed anything")
	}
	sealKilled(t, dir)
}

// readNumbers adds the batches of the folder's ledger.
func (c *content) readNumbers(t *testing.T, dir string) {
	t.Helper()
	for _, source := range []string{"worker-0", "worker-1"} {
		in, _, closeIn, err := openZstd(dir, filepath.Join(EvidenceDir, ledgerDir, acknowledged+source+".zst"))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		must(t, err)
		must(t, ledger.EachBatch(in, func(source string, number uint64) error {
			c.Batches = append(c.Batches, fmt.Sprint(source, " ", number))
			return nil
		}))
		closeIn()
	}
}

// of lists the numbers of one source.
func (*content) of(all []string, source string) (numbers []uint64) {
	for _, text := range all {
		var from string
		var number uint64
		if _, _ = fmt.Sscan(text, &from, &number); from == source {
			numbers = append(numbers, number)
		}
	}
	return numbers
}

func upTo(n uint64) (all []uint64) {
	for i := range n {
		all = append(all, i+1)
	}
	return all
}

// appendAndKill starts a process that appends to the record, kills it at a random instant,
// and returns the highest number that it had flushed.
func appendAndKill(t *testing.T, dir string, first bool) (flushed uint64) {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childEnv+"="+dir)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	must(t, err, child.Start())
	lines := bufio.NewReader(out)
	read := func() error {
		line, err := lines.ReadString('\n')
		if err == nil {
			_, err = fmt.Sscan(line, &flushed)
		}
		return err
	}
	if first {
		must(t, read())
		if _, _, err := Resume(dir, nil); !errors.Is(err, ErrInUse) {
			t.Errorf("resumed while another process appends: %v", err)
		}
	}
	killed := make(chan error, 1)
	timer := time.AfterFunc(time.Duration(rand.IntN(60_000))*time.Microsecond, func() { killed <- child.Process.Kill() })
	defer timer.Stop()
	for err = nil; err == nil; {
		err = read()
	}
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	must(t, <-killed)
	_ = child.Wait() // "signal: killed"
	if status := child.ProcessState.String(); status != "signal: killed" {
		t.Fatalf("the process ended by itself: %s", status)
	}
	return flushed
}

// sealKilled reads back what was acknowledged, seals the record, and opens it.
func sealKilled(t *testing.T, dir string) {
	t.Helper()
	w, r, err := Resume(dir, func(metric.Frame) error { return nil })
	must(t, err)
	frames := min(r.Sequences["worker/0"], r.Sequences["worker/1"])
	if r.Sequences["worker/0"] > frames {
		must(t, w.Frame(latencies("worker/1", frames+1, 1)))
		frames++
	}
	var rows []ledger.Entry
	for source, batches := range r.Batches {
		for number := range batches {
			rows = append(rows, identities(source, number+1)...)
		}
	}
	must(t, w.Persisted(each(rows...)), w.Environment(anEnvironment()), w.Seal(someFacts(StateOK)))
	checkSealed(t, dir, frames, int64(len(rows)))
}
