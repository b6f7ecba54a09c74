package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"assay.dev/assay/internal/cli"
	"assay.dev/assay/internal/version"

	"github.com/spf13/cobra"

	"assay.dev/assay/internal/crash"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/load/worker"
	"assay.dev/assay/internal/wire"
)

func newWorker() *cobra.Command {
	o, status := worker.Options{}, ""
	c := &cobra.Command{
		Use:   "worker --join URL",
		Short: "Take part in a run as one of its workers, from any machine",
		Long: `Worker joins the coordinator of a run (assay certify --engine join), which prints
the whole command, gets its share of the load and the script, runs it in k6, and
ends with the run. ASSAY_JOIN_TOKEN is the run's token.

The coordinator must have the key whose fingerprint the URL ends with. If the token
was chosen before the run, the URL needs no fingerprint: the key is derived from the
token, and workers may be started before the coordinator.

If the coordinator does not answer for a while, the worker goes on and delivers its
reports later; after 30 s it ends its load. Nothing is left on this machine, but the
temporary folder of a worker that is killed: the next worker removes it.

Exit codes: 0 after a run, 2 if the worker could not join or its reports could not
be delivered, otherwise that of k6 (105: the load was ended before its schedule).`,
		Example: `  ASSAY_JOIN_TOKEN=... assay worker --join https://10.0.0.5:7077#sha256:...

  # With a token of one's own, in any order:
  export ASSAY_JOIN_TOKEN=$(openssl rand -hex 32)
  assay worker --join https://10.0.0.5:7077 --wait 1h`,
		Args: cli.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			o.Token, o.Output = os.Getenv(wire.EnvJoinToken), cli.Messages{To: c.ErrOrStderr()}
			if status == "" {
				return work(c, o)
			}
			ctx, cancel := context.WithCancel(c.Context())
			var answering crash.Group
			defer answering.Wait()
			defer cancel()
			answering.Go(func() {
				if err := worker.ServeStatus(ctx, status); err != nil {
					cli.PrintError(c.ErrOrStderr(), err)
				}
			})
			return work(c, o)
		},
	}
	c.Flags().StringVar(&o.URL, "join", "", "URL of the coordinator, with or without the fingerprint of its key")
	c.Flags().DurationVar(&o.Wait, "wait", 5*time.Minute, "how long to wait for a coordinator that does not answer yet")
	c.Flags().StringVar(&status, "status", "", "address to answer the k6-operator on")
	_ = c.Flags().MarkHidden("status")
	c.Flags().StringVar(&o.Dir, "dir", "", "folder for temporary files (default: the system's)")
	return c
}

func work(c *cobra.Command, o worker.Options) (err error) {
	if o.URL == "" || o.Token == "" {
		return cli.Usage("copy the line that the coordinator prints", "worker needs --join URL and the run's token in ASSAY_JOIN_TOKEN")
	}
	// Who started it may have ended, and k6 is to be stopped as usual.
	signal.Ignore(syscall.SIGPIPE)
	if o.Executable, err = os.Executable(); err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	tool := version.Tool()
	o.Tool = wire.Tool{Version: tool.Version, Revision: tool.Revision, Dirty: tool.Dirty}
	status, err := worker.Run(c.Context(), o)
	if err != nil || status == "0" {
		return err
	}
	if code, err := strconv.Atoi(status); err == nil {
		return cli.ExitWith(code)
	}
	return hint.With(errors.New("k6 ended: "+status), "see its log in the run folder: evidence/workers/")
}

// isRunner reports whether these arguments of k6 are those of a runner of the
// k6-operator, whose environment names a coordinator: it is a worker.
func isRunner(args []string) bool {
	return len(args) > 0 && args[0] == "run" && os.Getenv(wire.EnvJoin) != ""
}

// statusAddress is where the k6-operator asks a runner for its status.
func statusAddress(args []string) string {
	for _, a := range args {
		if address, found := strings.CutPrefix(a, "--address="); found {
			return address
		}
	}
	return "0.0.0.0:6565"
}
