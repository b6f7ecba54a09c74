package main

import (
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"

	"assay.dev/assay/internal/cli"

	"github.com/spf13/cobra"

	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/observe/collect/stubs"
	"assay.dev/assay/internal/quantity"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/stub"
)

func newStub() *cobra.Command {
	var o stub.Options
	var check bool
	c := &cobra.Command{
		Use:   "stub FILE",
		Short: "Stand in for a slow bank or a third party during a load test",
		Long: `Stub answers HTTP calls as FILE says: with latencies, errors, hangs, connection resets and
429, and with a limit on the calls that it works on at a time, over which calls queue. Its
phases change that for a part of a run, from the start of the load on: a run begins them
whose profile names the stub ("stubs"), with the token in ` + stubs.TokenEnv + `. Outside of a
run, and without a token, it answers as without phases.

It serves until it is interrupted, and then prints what it has counted: in the last run, or
before any since its start.`,
		Example: `  assay stub stubs/bank.json --check
  export ` + stubs.TokenEnv + `=$(openssl rand -hex 16)   # the same for assay certify
  assay stub stubs/bank.json
  assay stub stubs/bank.json --listen 127.0.0.1:9000
  curl -X POST http://127.0.0.1:18090/charge`,
		Args: func(c *cobra.Command, args []string) error {
			return cli.Arguments(1, 1, "stub takes one file", "for example: "+c.CommandPath()+" stubs/bank.json")(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			data, err := foreign.ReadText(c.Context(), args[0], spec.MaxBytes)
			if err != nil {
				return hint.With(fmt.Errorf("the stub file cannot be read: %w", err), "for an example see stubs/bank.json of a new project: assay init DIR")
			}
			if o.File, err = spec.DecodeStub(args[0], data); err != nil {
				return err
			}
			if check {
				return checkStub(c, o.File)
			}
			o.Token, o.Log = os.Getenv(stubs.TokenEnv), slog.New(slog.NewTextHandler(c.ErrOrStderr(), nil))
			state, err := stub.Run(c.Context(), o, func(addr string) {
				fmt.Fprintf(c.ErrOrStderr(), "listening on http://%s\n", addr)
				if o.Token == "" {
					fmt.Fprintf(c.ErrOrStderr(), "%s is not set: no run can begin the phases\n", stubs.TokenEnv)
				}
			})
			if err != nil {
				return err
			}
			fmt.Fprint(c.OutOrStdout(), counted(state))
			return nil
		},
	}
	fs := c.Flags()
	fs.StringVar(&o.Listen, "listen", "", "address to serve on (default: that of FILE, or "+spec.DefaultStubListen+")")
	fs.BoolVar(&o.AllowRemote, "allow-remote", false, "allow an address that other hosts can reach")
	fs.BoolVar(&check, "check", false, "check FILE only")
	return c
}

// checkStub prints what a file has.
func checkStub(c *cobra.Command, f spec.StubFile) error {
	if _, err := stub.New(f, ""); err != nil {
		return err
	}
	fmt.Fprintf(c.OutOrStdout(), "%s is valid: %s, %s, for %s\n", f.Path, quantity.Number(len(f.Endpoints), "endpoint"), quantity.Number(len(f.Phases), "phase"), f.Listen)
	return nil
}

// counted is a line for each endpoint that was called.
func counted(s stubs.State) string {
	var b strings.Builder
	for _, e := range s.Endpoints {
		calls := int64(0)
		var outcomes []string
		for _, outcome := range slices.Sorted(maps.Keys(e.Calls)) {
			calls += e.Calls[outcome]
			outcomes = append(outcomes, fmt.Sprintf("%d %s", e.Calls[outcome], outcome))
		}
		if calls > 0 {
			fmt.Fprintf(&b, "%s: %s: %s; %s each\n", e.Endpoint, quantity.Number(int(calls), "call"), strings.Join(outcomes, ", "), quantity.Format(e.CallMs/float64(calls), "ms"))
		}
	}
	if b.Len() == 0 {
		return "no call\n"
	}
	return b.String()
}
