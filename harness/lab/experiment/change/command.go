package change

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"assay/harness/servers/process"
)

// execute runs a command of the experiment and waits for it. The command does not get
// Assay's secrets, and is killed if this process ends.
func execute(ctx context.Context, argv []string) error {
	out, err := os.CreateTemp("", "assay-command-")
	if err != nil {
		return err
	}
	defer func() {
		_ = out.Close()
		_ = os.Remove(out.Name())
	}()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = environment()
	cmd.Stdout, cmd.Stderr = out, out
	child, err := process.Start(cmd, process.Tied)
	if err != nil {
		return fmt.Errorf("run %s: %w", argv[0], err)
	}
	select {
	case <-child.Done():
	case <-ctx.Done():
		// With the processes that it has started, which would run during the revert.
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		return errors.Join(fmt.Errorf("run %s: %w", argv[0], context.Cause(ctx)), child.Kill())
	}
	if err := child.Err(); err != nil {
		output, _ := os.ReadFile(out.Name())
		return fmt.Errorf("run %s: %w%s", argv[0], err, lastLine(output))
	}
	return nil
}

// environment is that of this process without Assay's variables, some of which are
// secrets.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "ASSAY_") })
}

// lastLine is the last line of a command's output.
func lastLine(output []byte) string {
	lines := bytes.Split(bytes.TrimSpace(output), []byte("\n"))
	if last := strings.TrimSpace(string(lines[len(lines)-1])); last != "" {
		return ": " + strings.ToValidUTF8(last[:min(len(last), 300)], "")
	}
	return ""
}
