//go:build long

package run_test

import (
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/servers/process"
)

// noiseCommand makes the test binary use a share of each CPU, in bursts and at the tests'
// own priority, until it is killed.
const noiseCommand = "noise"

// Length of the bursts, and the share of each CPU that they use.
const (
	shortestBurst, longestBurst = 10 * time.Millisecond, 50 * time.Millisecond
	noiseShare                  = 0.3
)

func init() { childCommands[noiseCommand] = burnCPUs }

// burnCPUs runs as noiseCommand.
func burnCPUs() error {
	var cpus unix.CPUSet
	if err := unix.SchedGetaffinity(0, &cpus); err != nil {
		return err
	}
	for cpu, left := 0, cpus.Count(); left > 0; cpu++ {
		if !cpus.IsSet(cpu) {
			continue
		}
		left--
		go func() {
			runtime.LockOSThread()
			var one unix.CPUSet
			one.Set(cpu)
			if err := unix.SchedSetaffinity(0, &one); err != nil {
				panic(err)
			}
			random := rand.New(rand.NewPCG(1, uint64(cpu)))
			for {
				burst := shortestBurst + time.Duration(random.Int64N(int64(longestBurst-shortestBurst)))
				for until := time.Now().Add(burst); time.Now().Before(until); {
				}
				time.Sleep(time.Duration(float64(burst) * (1 - noiseShare) / noiseShare))
			}
		}()
	}
	select {}
}

// startCPUNoise makes another process use a share of each CPU until the test ends.
func startCPUNoise(t *testing.T) {
	t.Helper()
	cmd := exec.Command(os.Args[0], noiseCommand)
	cmd.Stderr = os.Stderr
	child, err := process.Start(cmd, process.Tied)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	t.Cleanup(func() {
		if err := child.Kill(); err != nil {
			t.Errorf("kill the other process: %v", err)
		}
		used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		share := used.Seconds() / time.Since(start).Seconds() / float64(runtime.NumCPU())
		t.Logf("the other process used %.0f %% of each CPU", 100*share)
		if share < noiseShare/2 { // it waited for CPUs itself
			t.Errorf("the other process used %.0f %% of each CPU, want %.0f %%", 100*share, 100*noiseShare)
		}
	})
}

// The matrix of package verdict, end to end: with another process that uses 30 % of each
// CPU, verdicts are still decided, and are the same as without it.
func TestLongVerdictsUnderCPUContention(t *testing.T) {
	respond := func() { time.Sleep(time.Duration(5e6 * math.Exp(0.5*rand.NormFloat64()))) }
	start := time.Now()
	for _, c := range []struct {
		name   string
		answer func()
		want   verdict.Outcome
	}{
		{"healthy", respond, verdict.Pass},
		{"four times the allowed violations", func() {
			if respond(); rand.Float64() < 0.12 {
				time.Sleep(400 * time.Millisecond)
			}
		}, verdict.Fail},
		{"a stall of 1 s in 10", func() {
			if in := time.Since(start) % (10 * time.Second); in < time.Second {
				time.Sleep(time.Second - in)
			}
		}, verdict.Fail},
	} {
		t.Run(c.name, func(t *testing.T) {
			startCPUNoise(t)
			server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { c.answer() }))
			defer server.Close()
			p := steady(200, 20*time.Second)
			p.Flows[0].SLOs[0].Expression, p.Flows[0].SLOs[0].Quantile, p.Flows[0].SLOs[0].Bound = "p(97)<300", 0.97, 300
			v := verdict.Judge(certify(t, options(t, p, getScript, server.URL)))
			if v.Outcome != c.want {
				t.Errorf("verdict %s, want %s: %s", v.Outcome, c.want, v.Claim)
			}
			for _, s := range v.SLOs {
				if s.Violations != nil && s.Cleared != nil {
					t.Logf("%s: %d violations as measured, %d cleared, of %d", s.Expression, *s.Violations, *s.Cleared, *s.Samples)
				}
			}
		})
	}
}
