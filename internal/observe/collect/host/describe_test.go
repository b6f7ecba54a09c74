package host_test

import (
	"net"
	"os"
	"runtime"
	"testing"

	"assay.dev/assay/internal/observe/collect/host"
)

func TestDescribe(t *testing.T) {
	h := host.Describe()
	if h.Name == "" || h.OS == "" || h.Kernel == "" || h.CPU == "" || h.CPUs < 1 || h.CPUs > runtime.NumCPU() || h.Memory < 1<<28 {
		t.Errorf("%+v", h)
	}
}

func TestListener(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	if pid, ok := host.Listener(t.Context(), "127.0.0.1", port); !ok || pid != os.Getpid() {
		t.Errorf("process %d listens, %v; want this one, %d", pid, ok, os.Getpid())
	}
	if pid, ok := host.Listener(t.Context(), "127.0.0.2", port); ok {
		t.Errorf("process %d listens at another address", pid)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if pid, ok := host.Listener(t.Context(), "127.0.0.1", port); ok {
		t.Errorf("process %d listens on a port that was closed", pid)
	}
}
