package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"assay.dev/assay/internal/cli"

	"github.com/spf13/cobra"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/project"
)

func newInit() *cobra.Command {
	return &cobra.Command{
		Use:   "init DIR",
		Short: "Write scenarios, thresholds, dashboards, a compose file and a CI job for a new project",
		Long: `Init writes the files of a new project to DIR, and lists them. It overwrites
nothing, and needs no network. DIR/README.md describes the next steps: certify your
own service in ten minutes.`,
		Example: `  assay init certification
  cd certification && assay certify payment     # the reference service, as a first try`,
		Args: cli.Arguments(1, 1, "init takes one folder", "for example: assay init certification"),
		RunE: func(c *cobra.Command, args []string) error {
			files, err := project.Write(args[0])
			if errors.Is(err, project.ErrExists) {
				return hint.With(err, "name an empty folder, or move that file away")
			}
			if err != nil {
				return err
			}
			for _, path := range files {
				fmt.Fprintln(c.OutOrStdout(), filepath.Join(args[0], path))
			}
			fmt.Fprintf(c.ErrOrStderr(), "next: read %s\n", filepath.Join(args[0], "README.md"))
			return nil
		},
	}
}
