package mysqld

import (
	"context"
	"errors"
	"fmt"
	"os/exec"

	"assay.dev/assay/internal/servers/process"
)

// Run runs the server program on the data of a stopped server to its end, for options
// with which it only reports something, and returns what it logged.
func Run(ctx context.Context, o Options) (string, error) {
	l, lock, _, err := prepare(ctx, &o)
	if err != nil {
		return "", err
	}
	defer func() { _ = lock.Close() }()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	log, err := process.OpenLog(l.log())
	if err != nil {
		return "", err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(o.Binary.Path, serverArgs(l, o.Port, o.Binary.Flavour, o.Args)...)
	cmd.Env = process.Environment(o.Env...)
	cmd.Stdout, cmd.Stderr = log.File, log.File
	child, err := process.Start(cmd, process.Tied)
	if err != nil {
		return "", fmt.Errorf("run database server: %w", err)
	}
	select {
	case <-child.Done():
	case <-ctx.Done():
		return "", errors.Join(fmt.Errorf("run database server: %w", context.Cause(ctx)), child.Kill())
	}
	if err := child.Err(); err != nil {
		return "", failure("run database server", log, err)
	}
	return log.Written(), nil
}

// DataDir is the data folder of a server on dir.
func DataDir(dir string) string { return layout{dir}.data() }
