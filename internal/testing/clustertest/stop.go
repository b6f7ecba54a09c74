package clustertest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"assay.dev/assay/internal/servers/process"
)

// stopTimeout is only reached where the kernel fails.
const stopTimeout = time.Minute

// stop ends everything of the cluster at once, as a machine does that is switched off.
func (c *Cluster) stop() (err error) {
	if c.names != nil {
		c.names.close()
	}
	for _, p := range slices.Backward(c.running) {
		err = errors.Join(err, p.child.Kill())
	}
	return errors.Join(err, c.killShims(), c.removeGroups(), c.unmount(), os.RemoveAll(c.data), os.RemoveAll(c.dir))
}

// killShims kills the parents of containers, which outlive containerd.
func (c *Cluster) killShims() error {
	entries, err := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range entries {
		words, _ := os.ReadFile(path) // a process that has ended has no words
		if !bytes.Contains(words, []byte("\x00"+c.socket()+"\x00")) {
			continue
		}
		pid, e := strconv.Atoi(strings.Split(path, "/")[2])
		if e != nil {
			continue
		}
		if id, e := process.Of(pid); e == nil {
			err = errors.Join(err, id.Kill())
		}
	}
	return err
}

// unmount removes the mounts of containers and volumes.
func (c *Cluster) unmount() error {
	mounts, err := procfs.GetMounts()
	if err != nil {
		return fmt.Errorf("list mounts: %w", err)
	}
	for _, m := range slices.Backward(mounts) {
		if !strings.HasPrefix(m.MountPoint, c.dir+"/") {
			continue
		}
		// Detached: it ends when its last user, which was killed, is gone.
		if e := unix.Unmount(m.MountPoint, unix.MNT_DETACH); e != nil && !errors.Is(e, unix.EINVAL) {
			err = errors.Join(err, fmt.Errorf("unmount %s: %w", m.MountPoint, e))
		}
	}
	return err
}
