package incluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/streaming/pkg/httpstream"

	"assay.dev/assay/internal/cluster"
	"assay.dev/assay/internal/crash"
	"assay.dev/assay/internal/doctor"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/observe/record"
)

// execute runs a command of this program in the coordinator's pod.
func execute(ctx context.Context, c *cluster.Cluster, p *corev1.Pod, out io.Writer, command string) error {
	request := c.CoreV1().RESTClient().Post().Namespace(p.Namespace).Resource("pods").Name(p.Name).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{
			Container: cluster.Container, Command: []string{"assay", "kubernetes", command}, Stdout: true, Stderr: true,
		}, scheme.ParameterCodec)
	e, err := executor(c.Config, request.URL())
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

// executor speaks WebSocket, or SPDY, as kubectl does, to API servers before Kubernetes 1.30
// and through proxies without WebSocket.
func executor(config *rest.Config, to *url.URL) (remotecommand.Executor, error) {
	webSocket, err := remotecommand.NewWebSocketExecutor(config, "GET", to.String())
	if err != nil {
		return nil, err
	}
	spdy, err := remotecommand.NewSPDYExecutor(config, "POST", to)
	if err != nil {
		return nil, err
	}
	return remotecommand.NewFallbackExecutor(webSocket, spdy, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	})
}

// CheckFolder fails if a record cannot be brought to dir: without the check, that would be
// known only after the load.
func CheckFolder(dir string) error {
	if err := record.CheckEmpty(dir); err != nil {
		return err
	}
	if err := doctor.ExamineFolder(dir).Err; err != nil {
		return hint.With(fmt.Errorf("create run folder: %w", err), "name another folder with --out")
	}
	return nil
}

// partialPrefix begins the name of the folder, in a run folder, of a record that is not
// whole.
const partialPrefix = ".partial-"

// collect brings the record to dir, which must not exist or be empty.
func collect(ctx context.Context, c *cluster.Cluster, p *corev1.Pod, dir string) (err error) {
	if err := record.CheckEmpty(dir); err != nil {
		return err
	}
	if _, gone := os.Lstat(dir); gone != nil {
		defer func() {
			if err != nil {
				_ = os.Remove(dir) // if it is empty
			}
		}()
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the run folder: %w", err)
	}
	for attempt, pause := 1, time.Second; ; attempt, pause = attempt+1, 2*pause {
		err := collectOnce(ctx, c, p, dir)
		switch {
		case err == nil:
			return nil
		case isLocal(err):
			return fmt.Errorf("write the record: %w", err)
		case attempt == collectAttempts || c.Lasting(err) != nil || cluster.Pause(ctx, pause) != nil:
			return c.Explain("collect the record from pod "+p.Name, err)
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

// collectOnce unpacks the record below dir first, which may be a mount point, or the only
// folder that can be written.
func collectOnce(ctx context.Context, c *cluster.Cluster, p *corev1.Pod, dir string) error {
	partial, err := os.MkdirTemp(dir, partialPrefix)
	if err != nil {
		return err
	}
	defer os.RemoveAll(partial) //nolint:errcheck // empty, if all is well
	read, write := io.Pipe()
	done := make(chan error, 1)
	crash.Go(func() {
		err := execute(ctx, c, p, write, "export")
		_ = write.CloseWithError(err) // nil: the end of the archive
		done <- err
	})
	err = unpack(read, partial, expandBytes)
	_ = read.CloseWithError(io.ErrClosedPipe)
	switch ended := <-done; {
	case err != nil && isLocal(err): // which ended the transfer
		return err
	case ended != nil:
		return ended
	case err != nil:
		return err
	}
	return moveUp(partial, dir)
}

// moveUp moves what is in a record's folder to dir. The evidence, which has the seal, is
// moved last and at once, so that a part of a record is never taken for the whole. Where
// one cannot be moved, none is left.
func moveUp(partial, dir string) error {
	entries, err := os.ReadDir(partial)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(entries, func(e fs.DirEntry) bool { return e.Name() == record.EvidenceDir }); i >= 0 {
		entries = append(slices.Delete(slices.Clone(entries), i, i+1), entries[i])
	}
	for i, e := range entries {
		if err := os.Rename(filepath.Join(partial, e.Name()), filepath.Join(dir, e.Name())); err != nil {
			for _, moved := range entries[:i] {
				err = errors.Join(err, os.RemoveAll(filepath.Join(dir, moved.Name())))
			}
			return err
		}
	}
	return nil
}
