package networktest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"assay.dev/assay/internal/servers/process"
)

// option is the option by which nsenter enters the namespace.
func (ns *namespace) option() string {
	return fmt.Sprintf("--net=/proc/%d/fd/%d", os.Getpid(), ns.file.Fd())
}

// killProcesses kills all processes in the namespace, those too that their parents no
// longer know.
func (ns *namespace) killProcesses() error {
	for {
		left, err := ns.processes()
		if err != nil || len(left) == 0 {
			return err
		}
		for _, id := range left {
			if err := id.Kill(); err != nil {
				return err
			}
		}
	}
}

// processes finds the processes in the namespace, and those that are about to enter it,
// other than this process.
func (ns *namespace) processes() (found []process.Identity, err error) {
	var stat unix.Stat_t
	if err := unix.Fstat(int(ns.file.Fd()), &stat); err != nil {
		return nil, fmt.Errorf("identify network namespace: %w", err)
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		// Those of a process that has ended since cannot be read.
		link, _ := os.Readlink(filepath.Join("/proc", e.Name(), "ns/net"))
		words, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if link != fmt.Sprintf("net:[%d]", stat.Ino) && !bytes.HasPrefix(words, []byte("nsenter\x00"+ns.option()+"\x00")) {
			continue
		}
		if id, err := process.Of(pid); err == nil && id.Alive() {
			found = append(found, id)
		}
	}
	return found, nil
}
