package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/load/k6"
)

func newRoot() *cobra.Command {
	root := group(&cobra.Command{
		Use:   "assay",
		Short: "Certify that a system sustains its target rate within its SLOs",
		Long: `Assay certifies, before a high-velocity event, that a system sustains its
target rate within its SLOs, and says why when it does not.

Results go to stdout, progress and errors to stderr. Exit codes: 0 PASS,
1 FAIL, 2 usage or operational error, 3 INVALID, 4 INCONCLUSIVE, 130
interrupted.`,
		Example: `  assay stack up                  # start a local database and service
  assay certify payment           # make load, record and judge it: PASS, or why not
  assay judge runs/latest         # the same verdict again, from the record
  assay verify runs/latest        # is the certificate unchanged?`,
		SilenceUsage: true, SilenceErrors: true,
	})
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return hint.With(err, seeHelp(c))
	})
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetHelpCommand(newHelp())
	root.AddCommand(
		newCertify(), newWorker(), newKubernetes(), newJudge(), newDiagnose(), newVerify(), newKeygen(), newCompare(), newSearch(), newScale(), newReproduce(), newExperiment(), newDoctor(), newInit(), newModel(),
		newFrames(), newInflux(), newStack(), newTarget(), newStub(), newTPCC(), newK6(), newBinlogReaders(), newNodeHealth(),
	)
	return root
}

// group makes c a group of subcommands: it prints its help without a subcommand, and
// fails for an unknown one.
func group(c *cobra.Command) *cobra.Command {
	c.Args = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return unknownCommand(c, args[0])
	}
	c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	c.DisableFlagsInUseLine = true
	c.SuggestionsMinimumDistance = 2
	return c
}

// unknownCommand suggests the nearest command, if one is near.
func unknownCommand(parent *cobra.Command, word string) error {
	problem := fmt.Sprintf("unknown command %q", word)
	if near := parent.SuggestionsFor(word); len(near) > 0 {
		problem += fmt.Sprintf(": did you mean %q?", near[0])
	}
	return hint.With(errors.New(problem), seeHelp(parent))
}

func seeHelp(c *cobra.Command) string { return "see: " + c.CommandPath() + " --help" }

// noArguments is cobra.NoArgs with a hint.
func noArguments(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usage(seeHelp(c), "%s takes no arguments, but got %q", strings.TrimPrefix(c.CommandPath(), "assay "), args[0])
}

// newHelp is cobra's help command, except that an unknown command is an error.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "Help about any command",
		RunE: func(c *cobra.Command, args []string) error {
			of := c.Root()
			for _, word := range args {
				next, rest, err := of.Find([]string{word})
				if err != nil || next == of || len(rest) > 0 {
					return unknownCommand(of, word)
				}
				of = next
			}
			of.InitDefaultHelpFlag()
			return of.Help()
		},
	}
}

// newK6 is only for the help: main calls k6 before cobra sees the arguments.
func newK6() *cobra.Command {
	return &cobra.Command{
		Use: "k6 ...", Short: "The embedded k6, with k6/x/sql",
		Long: `K6 runs the k6 that is embedded in this binary, with all its commands, flags and exit
codes. Invoked under the name k6, for example through a link, assay is k6 too.`,
		Example: `  assay k6 inspect scenarios/payment.js
  assay k6 run -e ASSAY_TARGET=http://127.0.0.1:18080 --iterations 1 scenarios/payment.js`,
		DisableFlagParsing: true,
		Run:                func(_ *cobra.Command, args []string) { k6.Main(args) },
	}
}
