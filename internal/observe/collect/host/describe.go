package host

import (
	"bufio"
	"os"
	"runtime"
	"strings"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"assay.dev/assay/internal/observe/record"
)

// Describe returns a description of this machine. Fields that cannot be read are
// empty.
func Describe() record.Host {
	h := record.Host{OS: system("/etc/os-release"), CPU: runtime.GOARCH, CPUs: cpus()}
	h.Name, _ = os.Hostname()
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		h.Kernel = unix.ByteSliceToString(name.Sysname[:]) + " " + unix.ByteSliceToString(name.Release[:])
	}
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return h
	}
	// Not every architecture has model names.
	if info, err := proc.CPUInfo(); err == nil && len(info) > 0 && info[0].ModelName != "" {
		h.CPU = info[0].ModelName
	}
	if m, err := proc.Meminfo(); err == nil && m.MemTotal != nil {
		h.Memory = int64(*m.MemTotal) * kibibyte
	}
	return h
}

// system returns the distribution's name from a file in the format of os-release(5).
func system(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return runtime.GOOS
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if name, ok := strings.CutPrefix(lines.Text(), "PRETTY_NAME="); ok {
			return strings.Trim(name, `"'`)
		}
	}
	return runtime.GOOS
}
