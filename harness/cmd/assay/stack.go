package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"assay/harness/lab/stack"
	"assay/harness/servers/mysqld"
)

func newStack() *cobra.Command {
	c := group(&cobra.Command{
		Use:   "stack",
		Short: "The local database, InfluxDB and reference service",
		Long: `Stack runs a MySQL or MariaDB server of its own, the reference service, and an
InfluxDB for views of runs where influxd is installed; all on loopback, with data
and logs below .assay/. It never touches another instance.`,
		Example: `  assay stack up
  assay certify payment      # uses the stack that is up
  assay stack down`,
	})
	c.AddCommand(newStackUp(), newStackDown(), newStackStatus())
	return c
}

func newStackUp() *cobra.Command {
	var o stack.Options
	var server string
	var targetArgs []string
	c := &cobra.Command{
		Use:   "up",
		Short: "Start what is not up",
		Long: `Up starts the database, InfluxDB and the reference service where they are not
up, and prints what is. A stack that is up already is shared: it is not changed.`,
		Example: `  assay stack up
  assay stack up --target-args '--commits transaction --pool-max-open 10'
  assay stack up --server /usr/sbin/mariadbd`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			if server != "" {
				if o.Binary, err = mysqld.Probe(server); err != nil {
					return err
				}
			}
			o.TargetArgs = strings.Fields(strings.Join(targetArgs, " "))
			fmt.Fprintln(c.ErrOrStderr(), "stack: starting what is not up")
			if _, _, err := stack.Up(c.Context(), o, logger(c)); err != nil {
				return err
			}
			return stack.WriteStatus(c.OutOrStdout(), o.Dir)
		},
	}
	fs := c.Flags()
	fs.StringVar(&o.Dir, "dir", stack.DefaultDir, "folder of data, logs and state")
	fs.IntVar(&o.DBPort, "db-port", 0, fmt.Sprintf("port of the database (default %d, or that of the data)", stack.DefaultDBPort))
	fs.IntVar(&o.TargetPort, "target-port", 0, fmt.Sprintf("port of the reference service (default %d)", stack.DefaultTargetPort))
	fs.IntVar(&o.InfluxPort, "influx-port", 0, fmt.Sprintf("port of InfluxDB (default %d)", stack.DefaultInfluxPort))
	fs.StringVar(&o.Influxd, "influxd", "", "influxd to run (default: ASSAY_INFLUXD, or the one on the PATH; without one there is no InfluxDB)")
	fs.StringArrayVar(&targetArgs, "target-args", nil, "arguments of assay target, in one string")
	fs.StringVar(&server, "server", "", "mysqld or mariadbd to run (default: ASSAY_MYSQLD, or the first found)")
	return c
}

func newStackDown() *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use: "down", Short: "Stop it; the data stays", Args: noArguments,
		Example: "  assay stack down\n  rm -r .assay                # the data too",
		RunE:    func(c *cobra.Command, _ []string) error { return stack.Down(c.Context(), dir, stack.All) },
	}
	c.Flags().StringVar(&dir, "dir", stack.DefaultDir, "folder of data, logs and state")
	return c
}

func newStackStatus() *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use: "status", Short: "What is up", Args: noArguments,
		Long: `Status prints a line for each process: name, condition (up, down, crashed, not
answering), what it is, its process and its log.`,
		Example: "  assay stack status",
		RunE:    func(c *cobra.Command, _ []string) error { return stack.WriteStatus(c.OutOrStdout(), dir) },
	}
	c.Flags().StringVar(&dir, "dir", stack.DefaultDir, "folder of data, logs and state")
	return c
}
