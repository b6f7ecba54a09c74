package stack

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"assay/harness/servers/process"
)

const (
	// targetTimeout bounds the start of the service, its tables included.
	targetTimeout = 30 * time.Second
	// targetPatience is how long it may drain its requests, by default 30 s,
	// before it is killed.
	targetPatience = 45 * time.Second
	healthEvery    = 50 * time.Millisecond
)

// ours are the secrets of the environment that the service must not inherit.
var ours = []string{"ASSAY_DB", "ASSAY_INFLUX_URL", "ASSAY_INFLUX_TOKEN", "ASSAY_SIGNING_KEY"}

// target ends with a reference service that answers.
func (u *rise) target(ctx context.Context) error {
	if t := u.state.Target; t.Process.Alive() {
		// A service whose database was just started again takes a moment.
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

func (u *rise) startTarget(ctx context.Context) error {
	o := u.options
	if err := checkTargetPort(o.TargetPort); err != nil {
		return err
	}
	log, err := os.OpenFile(u.targetLog(), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("start reference service: %w", err)
	}
	defer func() { _ = log.Close() }()
	from, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("start reference service: %w", err)
	}
	cmd := exec.Command(o.Executable, append([]string{"target", "--listen", process.Address(o.TargetPort)}, o.TargetArgs...)...)
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(ours, name)
	}), "ASSAY_DB="+u.state.ServiceDSN())
	cmd.Stdout, cmd.Stderr = log, log
	child, err := process.Start(cmd, process.Detached)
	if err != nil {
		return fmt.Errorf("start reference service: %w", err)
	}
	u.parts.Target = true
	u.started = append(u.started, func() error {
		u.state.Target = Target{}
		return child.Stop(targetPatience)
	})
	// At once: if we are killed now, it must still be found.
	u.state.Target = Target{Process: child.Identity, Port: o.TargetPort, Args: o.TargetArgs}
	if err := u.save(u.state); err != nil {
		return err
	}
	if err := awaitHealth(ctx, u.state.TargetURL(), targetTimeout, child.Done()); err != nil {
		if said := lastLine(log, from); said != "" {
			err = fmt.Errorf("%w: %s", err, u.state.Users.redact(said))
		}
		return fmt.Errorf("start reference service: %w (log: %s)", err, u.targetLog())
	}
	u.log.Info("reference service is up", "url", u.state.TargetURL(), "pid", child.PID)
	return nil
}

// awaitHealth returns when the service at url says that it is well, or has
// ended, or patience or ctx is at its end.
func awaitHealth(ctx context.Context, url string, patience time.Duration, ended <-chan struct{}) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not healthy within %s", patience))
	defer cancel()
	tick := time.NewTicker(healthEvery)
	defer tick.Stop()
	for {
		err := healthy(ctx, url)
		select {
		// Before the answer is believed: it may be somebody else's.
		case <-ended:
			return fmt.Errorf("it ended at once")
		default:
		}
		if err == nil {
			return nil
		}
		select {
		case <-ended:
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// direct goes to the loopback address whatever proxy the environment names.
var direct = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 2 * time.Second}

func healthy(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/healthz", http.NoBody)
	if err != nil {
		return err
	}
	resp, err := direct.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s/healthz: %s", url, resp.Status)
	}
	return nil
}

// lastLine returns the last line that was written from the offset on, but for
// what to do about it, which is not for our caller.
func lastLine(f *os.File, from int64) string {
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	from = max(from, info.Size()-4096)
	b, err := io.ReadAll(io.NewSectionReader(f, from, info.Size()-from))
	if err != nil {
		return ""
	}
	lines := bytes.Split(bytes.TrimSpace(b), []byte("\n"))
	last := lines[len(lines)-1]
	if len(lines) > 1 && bytes.HasPrefix(last, []byte("hint: ")) {
		last = lines[len(lines)-2]
	}
	return string(last)
}
