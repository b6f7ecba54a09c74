package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"assay.dev/assay/internal/cli"

	"github.com/spf13/cobra"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/judge/page"
	"assay.dev/assay/internal/system"
	"assay.dev/assay/lab/tpcc"
)

func newTPCC() *cobra.Command {
	c := cli.Group(&cobra.Command{
		Use:   "tpcc",
		Short: "Load, check and drop the database of the profile tpcc",
		Long: `Tpcc manages the tables of scenarios/tpcc.js in a schema of their own: warehouses,
their stock, customers and orders, as TPC-C describes them. What is measured with them
is like TPC-C, and unaudited: its figures are no tpmC.

The database is that of ASSAY_DB, whose user needs all privileges on the schema; else
that of the local stack. Its schema is not touched.`,
		Example: `  assay-lab tpcc load --warehouses 4
  assay certify tpcc
  assay-lab tpcc check
  assay-lab tpcc drop`,
	})
	c.AddCommand(newTPCCLoad(), newTPCCCheck(), newTPCCDrop())
	return c
}

// tpccFlags are the options of all commands of tpcc.
type tpccFlags struct{ db, schema string }

func (f *tpccFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.db, "db", "", "database DSN without the password, which ASSAY_DB holds")
	c.Flags().StringVar(&f.schema, "schema", tpcc.DefaultSchema, "schema of the tables")
}

// run calls do with the database.
func (f *tpccFlags) run(c *cobra.Command, do func(ctx context.Context, db *sql.DB) error) error {
	dsn, err := system.DatabaseOrStack(c.Context(), f.db, os.Getenv("ASSAY_DB"))
	if err != nil {
		return err
	}
	db, err := tpcc.Open(dsn)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }() // what is closed has no further use
	return do(c.Context(), db)
}

func newTPCCLoad() *cobra.Command {
	var f tpccFlags
	var s tpcc.Scale
	var quiet bool
	c := &cobra.Command{
		Use:   "load",
		Short: "Make the tables and fill them",
		Long: `Load makes the schema and fills it with the warehouses; a warehouse of the
specification's size has about 500,000 rows and 100 MB. The same scale and seed give
the same rows. A load that fails or is interrupted is dropped again.

With --items or --customers the tables are smaller than the specification says, which
makes a load faster and rows hotter.`,
		Example: `  assay-lab tpcc load --warehouses 4
  assay-lab tpcc load --warehouses 2 --items 1000 --customers 30    # seconds, for a first try
  assay-lab tpcc load --schema tpcc2                                # for a second writer`,
		Args: cli.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := s.Check(); err != nil {
				return cli.Usage(cli.SeeHelp(c), "%v", err)
			}
			return f.run(c, func(ctx context.Context, db *sql.DB) error {
				began := time.Now()
				p := &loadProgress{c: c, quiet: quiet, of: int64(s.Rows()), shown: began}
				if err := tpcc.Load(ctx, db, f.schema, s, p.show); err != nil {
					return fmt.Errorf("load TPC-C: %w", err)
				}
				size := "of the specification's size"
				if !s.Full() {
					size = fmt.Sprintf("scaled down: %d items, %d customers a district", s.Items, s.Customers)
				}
				_, err := fmt.Fprintf(c.OutOrStdout(), "loaded %d warehouses into schema %s (%s) in %s\n", s.Warehouses, f.schema, size, time.Since(began).Round(time.Second))
				return err
			})
		},
	}
	f.add(c)
	c.Flags().IntVar(&s.Warehouses, "warehouses", 2, "number of warehouses")
	c.Flags().IntVar(&s.Items, "items", tpcc.FullItems, "number of items")
	c.Flags().IntVar(&s.Customers, "customers", tpcc.FullCustomers, "customers of each of the 10 districts of a warehouse, and orders")
	c.Flags().Uint64Var(&s.Seed, "seed", 1, "seed of the data")
	c.Flags().BoolVar(&quiet, "quiet", false, "print no progress")
	return c
}

// loadProgress prints the progress of a load, at most once a second.
type loadProgress struct {
	c     *cobra.Command
	quiet bool
	of    int64

	mu    sync.Mutex
	shown time.Time
}

func (p *loadProgress) show(rows int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.quiet || time.Since(p.shown) < time.Second {
		return
	}
	p.shown = time.Now()
	fmt.Fprintf(p.c.ErrOrStderr(), "tpcc: %d of about %d rows (%d %%)\n", rows, p.of, min(99, 100*rows/p.of))
}

func newTPCCCheck() *cobra.Command {
	var f tpccFlags
	c := &cobra.Command{
		Use:   "check",
		Short: "Check the consistency conditions 1 to 4",
		Long: `Check checks the consistency conditions 1 to 4 of TPC-C, clause 3.3.2, and prints rows
that violate one. It may run under load. Exit code 0: all hold; 1: one is violated.`,
		Example: "  assay-lab tpcc check",
		Args:    cli.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return f.run(c, func(ctx context.Context, db *sql.DB) error {
				s, complete, err := tpcc.Loaded(ctx, db, f.schema)
				if err != nil {
					return err
				}
				if !complete {
					return hint.With(fmt.Errorf("schema %s holds no complete load", f.schema), "assay-lab tpcc load --warehouses N")
				}
				results, err := tpcc.Check(ctx, db, f.schema)
				if err != nil {
					return err
				}
				violated := 0
				var b strings.Builder
				fmt.Fprintf(&b, "schema %s, %d warehouses\n", f.schema, s.Warehouses)
				for _, r := range results {
					word := "holds   "
					if r.Violated > 0 {
						word = "VIOLATED"
						violated++
					}
					fmt.Fprintf(&b, "  %s  %s\n", word, r.Condition)
					for _, row := range r.Rows {
						fmt.Fprintf(&b, "            %s\n", page.Message(row))
					}
					if more := r.Violated - len(r.Rows); more > 0 {
						fmt.Fprintf(&b, "            and %d more\n", more)
					}
				}
				if _, err := fmt.Fprint(c.OutOrStdout(), b.String()); err != nil {
					return err
				}
				if violated > 0 {
					return cli.ExitWith(1)
				}
				return nil
			})
		},
	}
	f.add(c)
	return c
}

func newTPCCDrop() *cobra.Command {
	var f tpccFlags
	c := &cobra.Command{
		Use: "drop", Short: "Drop the tables", Args: cli.NoArguments,
		Long:    "Drop drops the tables that load has made, and the schema if it holds no others.",
		Example: "  assay-lab tpcc drop",
		RunE: func(c *cobra.Command, _ []string) error {
			return f.run(c, func(ctx context.Context, db *sql.DB) error { return tpcc.Drop(ctx, db, f.schema) })
		},
	}
	f.add(c)
	return c
}
