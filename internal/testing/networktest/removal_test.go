//go:build live

package networktest

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"assay.dev/assay/internal/servers/process"
	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/polltest"
)

const helperEnv = "ASSAY_TEST_NETWORK_HELPER"

// TestMain also serves as a test process that is killed: it has a network and a process
// on each host.
func TestMain(m *testing.M) {
	if os.Getenv(helperEnv) == "" {
		os.Exit(m.Run())
	}
	testing.Init()
	testing.Main(nil, []testing.InternalTest{{Name: "helper", F: func(t *testing.T) {
		n := New(t)
		for _, h := range []*Host{n.Host("near"), n.RemoteHost("far", Link{})} {
			child, err := process.Start(h.Command(t.Context(), "sleep", "600"), process.Tied)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Println(child.PID, child.Started, child.Boot)
		}
		select {}
	}}}, nil, nil)
}

// observer numbers namespaces: the kernel forgets a number when it removes the
// namespace.
type observer struct {
	*namespace
	next int
}

func newObserver(t *testing.T) *observer {
	t.Helper()
	ns, err := newNamespace()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(ns.close)
	return &observer{namespace: ns}
}

func (o *observer) watch(t *testing.T, f *os.File) {
	t.Helper()
	o.next++
	if err := o.netlink.SetNetNsIdByFd(int(f.Fd()), o.next); err != nil {
		t.Fatal(err)
	}
}

// exist is the number of watched namespaces that the kernel has not removed.
func (o *observer) exist(t *testing.T) (count int) {
	t.Helper()
	if err := o.do(func() error {
		request := nl.NewNetlinkRequest(unix.RTM_GETNSID, unix.NLM_F_DUMP)
		request.AddData(nl.NewRtGenMsg())
		answers, err := request.Execute(unix.NETLINK_ROUTE, unix.RTM_NEWNSID)
		count = len(answers)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return count
}

func descriptors(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// Networks leave nothing: no namespace (and so no device), process, goroutine or
// descriptor, even where a test leaves a process and a listener.
func TestRemoved(t *testing.T) {
	budget.CPUs(t, 0.2)
	o := newObserver(t)
	goroutines, files := runtime.NumGoroutine(), descriptors(t)
	const networks = 5
	var started []process.Identity
	for i := range networks {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			var late []*exec.Cmd
			t.Cleanup(func() {
				for _, cmd := range late {
					if err := cmd.Wait(); err == nil {
						t.Error("a process that was left was not killed")
					}
				}
			})
			n := New(t)
			o.watch(t, n.hub.file)
			near, far := n.Host("near"), n.RemoteHost("far", Link{Delay: time.Millisecond})
			if got := get(t, near, far.Serve(greet("far")).URL); got != "far" {
				t.Errorf("got %q", got)
			}
			far.SetLink(Link{Delay: time.Hour}) // packets wait at the end
			for _, h := range []*Host{near, far} {
				o.watch(t, h.namespace.file)
				if _, err := h.Listen("tcp", "127.0.0.1:0"); err != nil {
					t.Fatal(err)
				}
				// The shell's child is no longer this process's own.
				out, err := h.Command(t.Context(), "sh", "-c", "sleep 600 >/dev/null 2>&1 & echo $!").Output()
				var pid int
				if _, scanned := fmt.Sscan(string(out), &pid); err != nil || scanned != nil {
					t.Fatalf("the shell wrote %q: %v", out, err)
				}
				id, err := process.Of(pid)
				if err != nil {
					t.Fatal(err)
				}
				started = append(started, id)
				cmd := h.Command(context.Background(), "sleep", "600")
				cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true} // stops it before it enters the host
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				late = append(late, cmd)
				if id, err = process.Of(cmd.Process.Pid); err != nil {
					t.Fatal(err)
				}
				started = append(started, id)
			}
		})
	}
	if o.next != 3*networks || len(started) != 4*networks {
		t.Fatalf("%d namespaces watched, %d processes started", o.next, len(started))
	}
	for _, id := range started {
		if id.Alive() {
			t.Errorf("process %d is left", id.PID)
		}
	}
	// The kernel removes a namespace a little after its last use.
	polltest.Until(t, "no namespace is left", func() bool { return o.exist(t) == 0 })
	polltest.Until(t, "no goroutine is left", func() bool { return runtime.NumGoroutine() <= goroutines })
	polltest.Until(t, "no descriptor is left", func() bool { return descriptors(t) <= files })
}

// A test process that is killed leaves nothing either.
func TestRemovedWithKilledProcess(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.05)
	o := newObserver(t)
	helper := exec.Command(os.Args[0])
	helper.Env = append(os.Environ(), helperEnv+"=1")
	helper.Stderr = os.Stderr
	out, err := helper.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := helper.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	var left []process.Identity
	for range 2 {
		line, _ := lines.ReadString('\n')
		var id process.Identity
		if _, err := fmt.Sscan(line, &id.PID, &id.Started, &id.Boot); err != nil {
			t.Fatalf("the helper wrote %q: %v", line, err)
		}
		left = append(left, id)
		namespace := fmt.Sprintf("/proc/%d/ns/net", id.PID)
		own, err := os.Readlink(ownNamespace)
		if err != nil {
			t.Fatal(err)
		}
		polltest.Until(t, "the process has entered its host", func() bool {
			its, err := os.Readlink(namespace)
			return err == nil && its != own
		})
		f, err := os.Open(namespace)
		if err != nil {
			t.Fatal(err)
		}
		o.watch(t, f)
		_ = f.Close()
	}
	if got := o.exist(t); got != 2 {
		t.Fatalf("%d namespaces exist", got)
	}
	_ = helper.Process.Kill()
	_ = helper.Wait()
	for _, id := range left {
		polltest.Until(t, "the processes on the hosts have ended", func() bool { return !id.Alive() })
	}
	polltest.Until(t, "no namespace is left", func() bool { return o.exist(t) == 0 })
}
