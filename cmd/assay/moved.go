package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/spf13/cobra"

	"assay.dev/assay/internal/cli"
	"assay.dev/assay/internal/program"
)

// moved are the commands that assay-lab has: each hands its arguments over.
func moved() (all []*cobra.Command) {
	for _, of := range [][2]string{
		{"stack", "Run a local database, InfluxDB and reference service"},
		{"target", "Run the reference payment and ingestion service"},
		{"tpcc", "Manage the database of the profile tpcc"},
		{"scale", "Measure how throughput grows with threads and rates"},
		{"reproduce", "Measure the system of a field report on this machine"},
	} {
		name := of[0]
		all = append(all, &cobra.Command{
			Use: name, Short: of[1] + " (moved: assay-lab " + name + ")", DisableFlagParsing: true, Hidden: true,
			RunE: func(c *cobra.Command, args []string) error { return handOver(c, name, args) },
		})
	}
	return all
}

// handOver executes a command of assay-lab.
func handOver(c *cobra.Command, name string, args []string) error {
	lab, err := program.Lab()
	if err != nil {
		return err
	}
	self, err := program.Assay()
	if err != nil {
		return err
	}
	fmt.Fprintf(c.ErrOrStderr(), "note: %s is now a command of assay-lab: %s %s\n", name, lab, name)
	// The interrupts of a terminal reach it too; those that are sent to this process alone are
	// passed on.
	cmd := exec.CommandContext(c.Context(), lab, append([]string{name}, args...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, c.OutOrStdout(), c.ErrOrStderr()
	cmd.Env = append(os.Environ(), program.Env+"="+self)
	err = cmd.Run()
	var ended *exec.ExitError
	if errors.As(err, &ended) && ended.ExitCode() >= 0 {
		return cli.ExitWith(ended.ExitCode())
	}
	return err
}
