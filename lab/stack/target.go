package stack

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"time"

	"assay.dev/assay/internal/localstack"

	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/servers/process"
)

const (
	// targetTimeout limits the start of the service, including its tables.
	targetTimeout = 30 * time.Second
	// targetPatience is how long the service may drain requests (30 s by default)
	// before it is killed.
	targetPatience = 45 * time.Second
)

// ensureTarget ensures that the reference service runs and is healthy.
func (u *startup) ensureTarget(ctx context.Context) error {
	if t := u.state.Target; t.Process.Alive() {
		// It may be reconnecting to a database that was just restarted.
		err := awaitHealth(ctx, u.state.TargetURL(), answerPatience, nil)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("check reference service: %w", context.Cause(ctx))
		}
		u.log.Warn("reference service does not answer, starting it again", "pid", t.Process.PID, "error", err)
		if err := t.Process.Stop(targetPatience); err != nil {
			u.log.Warn("reference service was killed", "error", err)
		}
	}
	return u.startTarget(ctx)
}

func (u *startup) startTarget(ctx context.Context) error {
	o := u.options
	if err := checkTargetPort(o.TargetPort); err != nil {
		return err
	}
	log, err := process.OpenLog(u.targetLog())
	if err != nil {
		return fmt.Errorf("start reference service: %w", err)
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(o.Executable, append([]string{"target", "--listen", process.Address(o.TargetPort)}, o.TargetArgs...)...)
	cmd.Env = append(localstack.Environment(), "ASSAY_DB="+u.state.ServiceDSN())
	cmd.Stdout, cmd.Stderr = log.File, log.File
	child, err := process.Start(cmd, process.Detached)
	if err != nil {
		return fmt.Errorf("start reference service: %w", err)
	}
	u.parts.Target = true
	u.stops = append(u.stops, func() error {
		u.state.Target = Target{}
		return child.Stop(targetPatience)
	})
	// Saved at once: if this process is killed now, the next command must find the service.
	u.state.Target = Target{Process: child.Identity, Port: o.TargetPort, Args: o.TargetArgs}
	if err := u.save(u.state); err != nil {
		return err
	}
	if err := awaitHealth(ctx, u.state.TargetURL(), targetTimeout, child.Done()); err != nil {
		if line := lastLine(log.Written()); line != "" {
			err = fmt.Errorf("%w: %s", err, mask.Text(line))
		}
		return fmt.Errorf("start reference service: %w (log: %s)", err, u.targetLog())
	}
	u.log.Info("reference service is up", "url", u.state.TargetURL(), "pid", child.PID)
	return nil
}

// awaitHealth waits until the service at url is healthy. It fails if the service ends.
func awaitHealth(ctx context.Context, url string, patience time.Duration, ended <-chan struct{}) error {
	return process.Await(ctx, patience, ended, func(ctx context.Context) error { return healthy(ctx, url) })
}

// direct ignores proxies of the environment.
var direct = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 2 * time.Second}

func healthy(ctx context.Context, url string) error { return answers(ctx, url+"/healthz") }

// lastLine is the last line of a log, or the one before if the last is a hint.
func lastLine(log string) string {
	lines := strings.Split(strings.TrimSpace(log), "\n")
	last := lines[len(lines)-1]
	if len(lines) > 1 && strings.HasPrefix(last, "hint: ") {
		last = lines[len(lines)-2]
	}
	return last
}
