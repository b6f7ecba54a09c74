package main

import (
	"fmt"
	"os"

	"assay.dev/assay/internal/cli"

	"github.com/spf13/cobra"

	"assay.dev/assay/lab/stack"
	"assay.dev/assay/lab/stack/health"
)

func newStackNode() *cobra.Command {
	c := cli.Group(&cobra.Command{
		Use:   "node",
		Short: "Kill, stop, cut off or bring back a database node of the stack",
		Long: `Node makes a database node of the running stack fail, and brings it back; also while a
run uses the stack. The nodes are a, b and arbitrator (see: assay-lab stack status).`,
		Example: `  assay-lab stack node kill b
  assay-lab stack node start b`,
	})
	for _, a := range []struct {
		do          stack.Action
		short, long string
	}{
		{stack.Kill, "End a node at once, as a crash does", "Kill ends the process of a node with SIGKILL."},
		{stack.Shutdown, "Shut a node down in order", "Stop shuts the server of a node down, which leaves its group first."},
		{stack.Cut, "Cut a node off from clients and peers", `Cut drops every packet between a node and its clients and peers, in both directions: those
of its connections, and those that would open new ones. The process runs on, and no
connection is closed. It needs root, for a table of the packet filter (nftables), which
start, kill, stop and "assay-lab stack up|down" remove.`},
		{stack.Start, "Bring a node back", `Start undoes kill, stop and cut, and returns when the node has received what it missed. It
does nothing to a node that is well.`},
	} {
		c.AddCommand(newStackNodeDo(a.do, a.short, a.long))
	}
	return c
}

func newStackNodeDo(do stack.Action, short, long string) *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use: string(do) + " NAME", Short: short, Long: long, Example: "  assay-lab stack node " + string(do) + " b",
		Args: cli.Arguments(1, 1, fmt.Sprintf("stack node %s takes the name of one node", do), fmt.Sprintf("for example: assay-lab stack node %s b", do)),
		RunE: func(c *cobra.Command, args []string) error { return stack.NodeDo(c.Context(), dir, args[0], do) },
	}
	c.Flags().StringVar(&dir, "dir", stack.DefaultDir, "folder of data, logs and state")
	return c
}

// newNodeHealth is the hidden command that a stack with HAProxy runs as a child process.
func newNodeHealth() *cobra.Command {
	return &cobra.Command{
		Use: stack.HealthCommand + " KIND NAME=PORT...", Hidden: true,
		Short: fmt.Sprintf("Answer the health checks of a proxy for the nodes of %s", health.NodesEnv),
		RunE: func(c *cobra.Command, args []string) error {
			return health.Main(c.Context(), os.Getenv(health.NodesEnv), args)
		},
	}
}
