package main

import (
	"fmt"

	"assay.dev/assay/internal/cli"

	"github.com/spf13/cobra"

	"assay.dev/assay/internal/signature"
)

func newKeygen() *cobra.Command {
	kind := string(signature.Kinds[0])
	c := &cobra.Command{
		Use:   "keygen DIR",
		Short: "Generate a key pair to sign and verify certificates",
		Long: `Keygen writes DIR/assay.key (PKCS#8 PEM, mode 0600), which signs records and certificates,
and DIR/assay.pub (PKIX PEM), which verifies them. Give assay.pub to everyone who
relies on your certificates, separately from the certificates. Keygen overwrites
nothing.`,
		Example: `  assay keygen keys
  export ASSAY_SIGNING_KEY=keys/assay.key
  assay certify payment
  assay verify runs/latest --key keys/assay.pub`,
		Args: cli.Arguments(1, 1, "keygen takes one folder", "for example: assay keygen keys"),
		RunE: func(c *cobra.Command, args []string) error {
			private, public, err := signature.WritePair(args[0], signature.Kind(kind))
			if err != nil {
				return err
			}
			fmt.Fprintf(c.OutOrStdout(), "%s\n%s\n", private, public)
			fmt.Fprintf(c.ErrOrStderr(), "next: export %s=%s\n", signature.KeyEnv, private)
			return nil
		},
	}
	c.Flags().StringVar(&kind, "type", kind, "ed25519 or ecdsa-p256")
	return c
}
