package cli

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/spf13/cobra"

	"assay.dev/assay/internal/crash"
)

// A panic of a command is an error, and a command that only Reads ends when it is
// interrupted, whatever it Reads.
func TestCarryOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		blocked := make(chan struct{})
		defer close(blocked)
		root := &cobra.Command{Use: "assay", SilenceUsage: true, SilenceErrors: true}
		root.AddCommand(
			&cobra.Command{Use: "fails", RunE: func(*cobra.Command, []string) error { panic("a mistake") }},
			&cobra.Command{Use: "hangs", Annotations: Reads, RunE: func(*cobra.Command, []string) error { <-blocked; return nil }},
		)
		var ours *crash.Error
		root.SetArgs([]string{"fails"})
		if err := carryOut(t.Context(), root, []string{"fails"}); !errors.As(err, &ours) || ours.What != "a mistake" {
			t.Errorf("%v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		root.SetArgs([]string{"hangs"})
		if err := carryOut(ctx, root, []string{"hangs"}); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	})
}
