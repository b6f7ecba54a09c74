package judging

import "github.com/spf13/cobra"

// Commands are all commands of this package.
func Commands(describe DescribeDatabase) []*cobra.Command {
	return []*cobra.Command{Judge(), Diagnose(), Verify(describe), Compare(), Frames()}
}
