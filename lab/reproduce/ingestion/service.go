package ingestion

import (
	"context"
	"fmt"
	"os/exec"
	"time"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/servers/process"
	"assay.dev/assay/lab/target"
)

const (
	startTimeout = 30 * time.Second
	// drainPatience exceeds the drain time-out of channelArgs.
	drainPatience = 11 * time.Minute
)

// service is the reference service as a child process.
type service struct {
	*process.Child
	url string
}

// serve starts the reference service on a free port of loopback. Its log is appended to a
// file.
func serve(ctx context.Context, executable, dsn, logFile string, args []string) (s service, err error) {
	log, err := process.OpenLog(logFile)
	if err != nil {
		return s, fmt.Errorf("start the reference service: %w", err)
	}
	defer func() { _ = log.Close() }() // the child has its own
	err = process.OnFreePort(func(port int) error {
		s.url = "http://" + process.Address(port)
		cmd := exec.Command(executable, append([]string{"target", "--listen", process.Address(port)}, args...)...)
		cmd.Env = append(process.WithoutSecrets(), "ASSAY_DB="+dsn)
		cmd.Stdout, cmd.Stderr = log.File, log.File
		if s.Child, err = process.Start(cmd, process.Tied); err != nil {
			return err
		}
		err := s.Await(ctx, startTimeout, func(ctx context.Context) error { return target.CheckHealth(ctx, s.url) })
		if err != nil {
			_ = s.Kill() // it may have ended
		}
		return err
	})
	if err != nil {
		return s, hint.With(fmt.Errorf("start the reference service: %w", err), "see its log: "+logFile)
	}
	return s, nil
}
