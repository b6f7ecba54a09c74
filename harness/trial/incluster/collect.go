package incluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/remotecommand"

	"assay/harness/cluster"
)

// execute runs a command of this program in the coordinator's pod.
func execute(ctx context.Context, c *cluster.Cluster, p *corev1.Pod, out io.Writer, command string) error {
	request := c.CoreV1().RESTClient().Post().Namespace(p.Namespace).Resource("pods").Name(p.Name).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{
			Container: cluster.Container, Command: []string{"assay", "kubernetes", command}, Stdout: true, Stderr: true,
		}, scheme.ParameterCodec)
	e, err := remotecommand.NewWebSocketExecutor(c.Config, "GET", request.URL().String())
	if err != nil {
		return err
	}
	var said bytes.Buffer
	if err := e.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: out, Stderr: &said}); err != nil {
		text, _, _ := strings.Cut(said.String(), "\n") // without its hint, which is for another place
		if text = strings.TrimPrefix(text, "assay: "); text != "" {
			err = errors.New(text)
		}
		return err
	}
	return nil
}

// collect brings the record to dir, which must not exist or be empty.
func collect(ctx context.Context, c *cluster.Cluster, p *corev1.Pod, dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return fmt.Errorf("make the run folder: %w", err)
	}
	for attempt, pause := 1, time.Second; ; attempt, pause = attempt+1, 2*pause {
		err := collectOnce(ctx, c, p, dir)
		switch {
		case err == nil:
			return nil
		case isLocal(err):
			return fmt.Errorf("write the record: %w", err)
		case attempt == collectAttempts || c.Lasting(err) != nil || ctx.Err() != nil:
			return c.Explain("collect the record from pod "+p.Name, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// collectAttempts bounds how often an interrupted transfer is begun again: for about a
// minute, with pauses that double.
const collectAttempts = 7

// isLocal reports whether an error is of this machine's files.
func isLocal(err error) bool {
	var path *fs.PathError
	var link *os.LinkError
	return errors.As(err, &path) || errors.As(err, &link)
}

func collectOnce(ctx context.Context, c *cluster.Cluster, p *corev1.Pod, dir string) error {
	partial, err := os.MkdirTemp(filepath.Dir(dir), "."+filepath.Base(dir)+".partial-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(partial) //nolint:errcheck // renamed, if all is well
	// Readable as a folder that was made here.
	if err := os.Chmod(partial, 0o755); err != nil { //nolint:gosec // as other run folders
		return err
	}
	read, write := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := execute(ctx, c, p, write, "export")
		_ = write.CloseWithError(err) // nil: the end of the archive
		done <- err
	}()
	err = unpack(read, partial)
	_ = read.CloseWithError(io.ErrClosedPipe)
	switch ended := <-done; {
	case err != nil && isLocal(err): // which ended the transfer
		return err
	case ended != nil:
		return ended
	case err != nil:
		return err
	}
	_ = os.Remove(dir) // an empty folder; of another, Rename fails
	return os.Rename(partial, dir)
}
