package clustertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"assay.dev/assay/internal/servers/process"
)

// Env names the folder that .ci/kubernetes has filled; .ci/cluster sets it.
const Env = "ASSAY_TEST_KUBERNETES"

// startTimeout bounds the start of one program, on a machine that does much else.
const startTimeout = 3 * time.Minute

// packages is the folder of the unpacked packages of the system.
func (c *Cluster) packages() string { return filepath.Join(c.programs, "root") }

// environment is that of the cluster's programs, which call others of the packages.
func (c *Cluster) environment() []string {
	root := c.packages()
	libraries := filepath.Join(root, "usr/lib", map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]+"-linux-gnu")
	return process.Environment(
		"PATH="+strings.Join([]string{filepath.Join(root, "usr/sbin"), filepath.Join(root, "usr/bin"), os.Getenv("PATH"), "/usr/sbin", "/sbin"}, ":"),
		"LD_LIBRARY_PATH="+libraries, "XTABLES_LIBDIR="+filepath.Join(libraries, "xtables"),
	)
}

// program is one of the cluster's. Its log is a file in the cluster's folder.
type program struct {
	name  string
	args  []string
	child *process.Child
}

// own is the path of a program of Kubernetes, packaged that of one of the system.
func (c *Cluster) own(name string) string { return filepath.Join(c.programs, "bin", name) }

func (c *Cluster) packaged(name string) string { return filepath.Join(c.packages(), "usr/bin", name) }

func (c *Cluster) log(name string) string { return filepath.Join(c.dir, name+".log") }

// start starts a program, which is stopped with the cluster.
func (c *Cluster) start(path string, args ...string) (*program, error) {
	p := &program{name: filepath.Base(path), args: append([]string{path}, args...)}
	if err := c.run(p); err != nil {
		return nil, err
	}
	c.running = append(c.running, p)
	return p, nil
}

func (c *Cluster) run(p *program) error {
	log, err := process.OpenLog(c.log(p.name))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the program has its own copy
	cmd := exec.Command(p.args[0], p.args[1:]...)
	cmd.Dir, cmd.Env = c.dir, c.environment()
	cmd.Stdout, cmd.Stderr = log.File, log.File
	if p.child, err = process.Start(cmd, process.Tied); err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	return nil
}

// await waits until a program is ready. It fails as soon as any of the cluster's has ended;
// the error holds the end of that one's log.
func (c *Cluster) await(ctx context.Context, name string, ready func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	err := process.Await(ctx, startTimeout, nil, func(ctx context.Context) error {
		if err := c.ended(); err != nil {
			cancel(err)
			return err
		}
		return ready(ctx)
	})
	if err == nil || errors.Is(err, process.ErrEnded) {
		return err
	}
	return fmt.Errorf("%s: %w\n%s", name, err, c.logged(name, 15))
}

// ended is an error if a program is no longer running.
func (c *Cluster) ended() error {
	for _, p := range c.running {
		select {
		case <-p.child.Done():
			return fmt.Errorf("%s: %w (%v)\n%s", p.name, process.ErrEnded, p.child.Err(), c.logged(p.name, 15)) //nolint:errorlint // nil if it ended well
		default:
		}
	}
	return nil
}

// logged are the last lines of a program's log.
func (c *Cluster) logged(name string, lines int) string {
	text, err := os.ReadFile(c.log(name))
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
