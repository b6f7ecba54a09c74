package main

import (
	"fmt"
	"io"
	"os"

	"assay.dev/assay/internal/cli"

	"github.com/spf13/cobra"

	"assay.dev/assay/internal/trial/incluster"
)

// The commands of the coordinator's pod, in its manifest and run by `assay kubernetes certify`.

// inCoordinator refuses such a command elsewhere, where its files are those of others.
func inCoordinator(c *cobra.Command) error {
	if coordinatorPod() != nil {
		return nil
	}
	return cli.Usage("see: assay kubernetes certify --help", "kubernetes %s is only for the pod of a coordinator", c.Name())
}

func newCoordinate() *cobra.Command {
	folder := ""
	c := &cobra.Command{
		Use: "coordinate -- COMMAND", Hidden: true, Short: "Run a command as the coordinator in its pod, and hold its record",
		Args: cli.Arguments(1, 1000, "no command was named", "for example: assay kubernetes coordinate -- certify payment"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := inCoordinator(c); err != nil {
				return err
			}
			if err := incluster.Prepare(folder); err != nil {
				return err
			}
			if err := os.Setenv(envListen, incluster.Listen()); err != nil {
				return fmt.Errorf("prepare the coordinator's pod: %w", err)
			}
			code := cli.Execute(c.Context(), newRoot(), append(args, "--out", incluster.RunFolder), io.Discard, c.ErrOrStderr())
			incluster.Hold(c.Context(), c.ErrOrStderr())
			return cli.ExitWith(code)
		},
	}
	c.Flags().StringVar(&folder, "folder", ".", "folder of the project to run in")
	return c
}

func newExport() *cobra.Command {
	return &cobra.Command{
		Use: "export", Hidden: true, Short: "Write the run folder of the coordinator's pod to stdout", Args: cli.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := inCoordinator(c); err != nil {
				return err
			}
			return incluster.Export(c.OutOrStdout())
		},
	}
}

func newInterrupt() *cobra.Command {
	return &cobra.Command{
		Use: "interrupt", Hidden: true, Short: "Interrupt the run of the coordinator's pod", Args: cli.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := inCoordinator(c); err != nil {
				return err
			}
			return incluster.Interrupt()
		},
	}
}
