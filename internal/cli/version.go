// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/version"
)

// addVersion adds the command version and the option --version to a program.
func addVersion(root *cobra.Command) {
	text := version.Text(root.Name(), certificate.SchemaVersion)
	root.Version = version.Program
	root.SetVersionTemplate(text)
	root.InitDefaultVersionFlag()
	root.AddCommand(&cobra.Command{
		Use: "version", Short: "Print the versions of the program, its rulebook and its parts", Args: NoArguments,
		Example: "  " + root.Name() + " version",
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprint(c.OutOrStdout(), text)
			return err
		},
	})
}
