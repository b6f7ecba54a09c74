package doctor

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/prometheus/procfs"

	"assay.dev/assay/internal/observe/collect/host"
)

// All facts can be read on this machine.
func TestThisMachine(t *testing.T) {
	if p := examinePorts(); p.Low < 1 || p.High <= p.Low {
		t.Errorf("%+v", p)
	}
	if c := examineClock(); !c.Known {
		t.Errorf("%+v", c)
	}
}

// tree makes files in a temporary root folder, and its /proc/self.
func tree(t *testing.T, files map[string]string) (root string) {
	t.Helper()
	root = t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.MkdirAll(filepath.Join(root, "proc", "7"), 0o755), os.Symlink("7", filepath.Join(root, "proc", "self"))); err != nil {
		t.Fatal(err)
	}
	return root
}

func procOf(t *testing.T, root string) procfs.FS {
	t.Helper()
	proc, err := procfs.NewFS(filepath.Join(root, "proc"))
	if err != nil {
		t.Fatal(err)
	}
	return proc
}

func TestPortRange(t *testing.T) {
	for text, want := range map[string][2]int{"32768\t60999\n": {32768, 60999}, "": {}, "7\n": {}, "9 8\n": {}, "a b\n": {}} {
		proc := procOf(t, tree(t, map[string]string{"proc/sys/net/ipv4/ip_local_port_range": text}))
		if low, high := host.PortRange(proc); [2]int{low, high} != want {
			t.Errorf("%q: %d to %d, want %v", text, low, high, want)
		}
	}
	if low, high := host.PortRange(procOf(t, tree(t, nil))); low != 0 || high != 0 {
		t.Errorf("no file: %d to %d", low, high)
	}
}

// A missing folder is examined in its nearest existing parent, and no file remains.
func TestFolder(t *testing.T) {
	dir := t.TempDir()
	for _, at := range []string{dir, filepath.Join(dir, "runs", "one")} {
		if f := ExamineFolder(at); f.Err != nil || f.Free <= 0 {
			t.Errorf("%s: %+v", at, f)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{file, filepath.Join(file, "runs")} {
		if f := ExamineFolder(at); f.Err == nil {
			t.Errorf("%s is writable", at)
		}
	}
	// A file system that is not writable, even for root.
	if f := ExamineFolder("/proc/runs"); f.Err == nil || errors.Is(f.Err, syscall.ENOTDIR) {
		t.Errorf("/proc: %+v", f)
	}
}
