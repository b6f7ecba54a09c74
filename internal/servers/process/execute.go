package process

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

	"assay.dev/assay/internal/mask"
)

// Execute runs a command that the user named, and waits for it. The command does not get
// Assay's secrets. It is killed, with the processes that it has started, when ctx is done,
// and itself when this process ends.
func Execute(ctx context.Context, argv []string) error {
	out, err := os.CreateTemp("", "assay-command-")
	if err != nil {
		return err
	}
	defer func() {
		_ = out.Close()
		_ = os.Remove(out.Name())
	}()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = WithoutSecrets()
	cmd.Stdout, cmd.Stderr = out, out
	child, err := Start(cmd, Tied)
	if err != nil {
		return fmt.Errorf("run %s: %w", argv[0], err)
	}
	select {
	case <-child.Done():
	case <-ctx.Done():
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		return errors.Join(fmt.Errorf("run %s: %w", argv[0], context.Cause(ctx)), child.Kill())
	}
	if err := child.Err(); err != nil {
		output, _ := os.ReadFile(out.Name())
		return fmt.Errorf("run %s: %w%s", argv[0], err, LastLine(output))
	}
	return nil
}

// LastLine is the last line of a command's output after a colon, of at most 300 bytes, to be
// appended to an error; empty: there is none.
func LastLine(output []byte) string {
	lines := bytes.Split(bytes.TrimSpace(mask.Bytes(output)), []byte("\n"))
	if last := strings.TrimSpace(string(lines[len(lines)-1])); last != "" {
		return ": " + mask.Cut(last, 300)
	}
	return ""
}

// Environment is the environment of a server: variables of the system that every
// program may need, and extra ones. Nothing else is inherited, as it could change the
// server's options (MYSQL_*, PG*, INFLUXDB_*) or be a secret (ASSAY_*).
func Environment(extra ...string) []string {
	var env []string
	for _, name := range []string{"PATH", "HOME", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return append(env, extra...) // the last value of a name counts
}

// WithoutSecrets is the environment of this process without Assay's variables, some of
// which are secrets: for commands that the user names.
func WithoutSecrets() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "ASSAY_") })
}
