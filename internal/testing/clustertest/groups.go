package clustertest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// controlGroups is where the kernel's control groups are mounted: version 1 as a folder
// for each controller, version 2 as one tree.
const controlGroups = "/sys/fs/cgroup"

// groups are the folders of the pods' control group.
func (c *Cluster) groups() (folders []string, err error) {
	if _, err := os.Stat(filepath.Join(controlGroups, "cgroup.controllers")); err == nil {
		return []string{filepath.Join(controlGroups, c.group)}, nil
	}
	controllers, err := filepath.Glob(filepath.Join(controlGroups, "*"))
	for _, controller := range controllers {
		folders = append(folders, filepath.Join(controller, c.group))
	}
	return folders, err
}

// makeGroups makes the control group below which kubelet makes those of pods.
func (c *Cluster) makeGroups() error {
	folders, err := c.groups()
	if err != nil {
		return err
	}
	for _, folder := range folders {
		if err := os.Mkdir(folder, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("make control group: %w", err)
		}
	}
	if len(folders) > 1 {
		return nil
	}
	for _, folder := range []string{controlGroups, folders[0]} {
		if err := os.WriteFile(filepath.Join(folder, "cgroup.subtree_control"), []byte("+cpu +cpuset +memory +pids"), 0); err != nil {
			return fmt.Errorf("make control group: %w", err)
		}
	}
	return nil
}

// removeGroups kills the processes of the pods and removes their control groups.
func (c *Cluster) removeGroups() error {
	folders, err := c.groups()
	if err != nil {
		return err
	}
	for deadline := time.Now().Add(stopTimeout); ; time.Sleep(20 * time.Millisecond) {
		var failed error
		for _, folder := range folders {
			failed = errors.Join(failed, removeGroup(folder))
		}
		if failed == nil || time.Now().After(deadline) {
			return failed
		}
	}
}

// removeGroup tries to remove a control group and all below it; it fails as long as
// their processes have not ended.
func removeGroup(folder string) error {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			err = errors.Join(err, removeGroup(filepath.Join(folder, e.Name())))
		}
	}
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(folder, "cgroup.procs"))
	if err != nil {
		return err
	}
	for _, word := range strings.Fields(string(text)) {
		if pid, err := strconv.Atoi(word); err == nil && pid > 1 { // 0: of another namespace
			_ = unix.Kill(pid, unix.SIGKILL) // it may have ended
		}
	}
	return unix.Rmdir(folder) // os.Remove would try to remove a file first
}
