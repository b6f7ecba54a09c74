package clustertest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
)

// Busybox is an image that every cluster has: BusyBox with its links in /bin, and curl.
const Busybox = "assay-test/busybox:1"

// pause is the image of the process that holds a pod's namespaces.
const pause = "assay-test/pause:1"

// searchPath is the variable of images that are made from BusyBox.
const searchPath = "PATH=/usr/bin:/bin"

// importBusybox imports the images that every cluster has.
func (c *Cluster) importBusybox(ctx context.Context) (err error) {
	if c.busybox, err = withLibraries(ctx, "curl"); err != nil {
		return err
	}
	busybox := File{From: filepath.Join(c.packages(), "bin/busybox")}
	c.busybox["/bin/busybox"] = busybox
	c.busybox["/tmp"] = File{Mode: fs.ModeDir | fs.ModeSticky | 0o777}
	// No wget: a program that is linked statically does not find hosts by their names.
	for _, name := range []string{
		"sh", "cat", "cp", "date", "dd", "echo", "env", "false", "grep", "head", "httpd", "id", "ls", "mkdir", "mv", "nc",
		"nslookup", "ping", "printf", "ps", "rm", "sed", "seq", "sleep", "tail", "test", "touch", "tr", "true", "wc",
	} {
		c.busybox["/bin/"+name] = File{Link: "busybox"}
	}
	return errors.Join(
		c.importImage(ctx, Image{
			Name: pause, Files: map[string]File{"/busybox": busybox}, Cmd: []string{"/busybox", "sleep", "2147483647"}, // seconds
		}),
		c.importImage(ctx, Image{Name: Busybox, Files: c.busybox, Cmd: []string{"sh"}, Env: []string{searchPath}}),
	)
}

// withLibraries is a program of this machine with the shared libraries that it needs.
func withLibraries(ctx context.Context, name string) (map[string]File, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return nil, err
	}
	out, err := exec.CommandContext(ctx, "ldd", path).Output()
	if err != nil {
		return nil, fmt.Errorf("list libraries of %s: %w", path, err)
	}
	found := map[string]File{"/usr/bin/" + name: {From: path}}
	for word := range strings.FieldsSeq(string(out)) { // NAME => PATH (ADDRESS)
		if filepath.IsAbs(word) {
			found[word] = File{From: word}
		}
	}
	return found, nil
}
