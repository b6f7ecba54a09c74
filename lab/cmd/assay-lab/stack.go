package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"assay.dev/assay/internal/cli"
	"assay.dev/assay/internal/servers/mysqld"
	"assay.dev/assay/lab/stack"
	"assay.dev/assay/lab/stack/health"
)

func newStack() *cobra.Command {
	c := cli.Group(&cobra.Command{
		Use:   "stack",
		Short: "Run a local database, InfluxDB and reference service",
		Long: `Stack runs a separate MySQL or MariaDB server, the reference service, and, if
influxd is installed, an InfluxDB for views of runs; all on loopback, with data and
logs in .assay/. It never touches other instances.`,
		Example: `  assay-lab stack up
  assay certify payment      # uses the stack that is up
  assay-lab stack down`,
	})
	c.AddCommand(newStackUp(), newStackDown(), newStackStatus(), newStackNode())
	return c
}

func newStackUp() *cobra.Command {
	var o stack.Options
	var server, topology string
	var targetArgs []string
	c := &cobra.Command{
		Use:   "up",
		Short: "Start the stack",
		Long: `Up starts the database, InfluxDB and the reference service, unless they are up
already, and prints their status.

Topologies: single, node a; replica, in which b follows the binlog of the writer a and is
only read; multi-primary, two writers a and b with an arbitrator that votes, by Galera
(MariaDB with galera-4 and garbd) or Group Replication (MySQL). Each keeps data of its
own. --proxy puts HAProxy before the nodes: at one port it leads to one writer, a or else
b, at the next to both in turn.`,
		Example: `  assay-lab stack up
  assay-lab stack up --topology multi-primary --proxy
  assay-lab stack up --target-args '--commits transaction --pool-max-open 10'
  assay-lab stack up --server /usr/sbin/mariadbd`,
		Args: cli.NoArguments,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			if o.Topology, err = stack.ParseTopology(topology); err != nil {
				return err
			}
			if server != "" {
				if o.Binary, err = mysqld.Probe(server); err != nil {
					return err
				}
			}
			o.TargetArgs = strings.Fields(strings.Join(targetArgs, " "))
			fmt.Fprintln(c.ErrOrStderr(), "stack: starting")
			if _, _, err := stack.Up(c.Context(), o, cli.Logger(c)); err != nil {
				return err
			}
			return stack.WriteStatus(c.OutOrStdout(), o.Dir)
		},
	}
	fs := c.Flags()
	fs.StringVar(&o.Dir, "dir", stack.DefaultDir, "folder of data, logs and state")
	fs.StringVar(&topology, "topology", "", "database nodes: single, replica or multi-primary (default: those of the running stack, or single)")
	fs.BoolVar(&o.Proxy, "proxy", false, "put HAProxy before the database nodes, and the reference service behind it")
	fs.IntVar(&o.DBPort, "db-port", 0, fmt.Sprintf("port of the database, or node a; node b and HAProxy use the next three (default %d, or that of the running stack)", stack.DefaultDBPort))
	fs.IntVar(&o.TargetPort, "target-port", 0, fmt.Sprintf("port of the reference service (default %d)", stack.DefaultTargetPort))
	fs.IntVar(&o.InfluxPort, "influx-port", 0, fmt.Sprintf("port of InfluxDB (default %d)", stack.DefaultInfluxPort))
	fs.StringVar(&o.Influxd, "influxd", "", "influxd to run (default: ASSAY_INFLUXD, or influxd on the PATH; without one the stack has no InfluxDB)")
	fs.StringArrayVar(&targetArgs, "target-args", nil, "arguments of assay-lab target, in one string")
	fs.StringVar(&server, "server", "", "mysqld or mariadbd to run (default: ASSAY_MYSQLD, or the first found)")
	return c
}

func newStackDown() *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use: "down", Short: "Stop the stack and keep its data", Args: cli.NoArguments,
		Example: "  assay-lab stack down\n  rm -r .assay                # delete the data too",
		RunE:    func(c *cobra.Command, _ []string) error { return stack.Stop(c.Context(), dir) },
	}
	c.Flags().StringVar(&dir, "dir", stack.DefaultDir, "folder of data, logs and state")
	return c
}

func newStackStatus() *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use: "status", Short: "Show the processes of the stack", Args: cli.NoArguments,
		Long: `Status prints one line per process: name, state (up, down, crashed, not
answering), version and address, process id and log file.`,
		Example: "  assay-lab stack status",
		RunE:    func(c *cobra.Command, _ []string) error { return stack.WriteStatus(c.OutOrStdout(), dir) },
	}
	c.Flags().StringVar(&dir, "dir", stack.DefaultDir, "folder of data, logs and state")
	return c
}

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
