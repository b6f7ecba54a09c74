package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"assay/harness/judge/certificate"
	"assay/harness/judge/compare"
	"assay/harness/judge/compare/report"
	"assay/harness/judge/page"
	"assay/harness/observe/record"
)

// compareFlags are the options of `assay compare`.
type compareFlags struct {
	tolerance string
	metrics   []string
	unpaired  bool
	force     bool
	json      bool
	html      string
}

func newCompare() *cobra.Command {
	var f compareFlags
	c := &cobra.Command{
		Use:   "compare A B",
		Short: "What differs between two groups of runs: changed, equivalent or undetermined",
		Long: `Compare judges sealed runs again, from their records, and tells for each metric
the ratio of B to A with its 95 % interval. A and B are run folders, or folders
that hold run folders.

The unit is the run: from two single runs nothing can be told but their ratio.
Make 6 pairs at least, in turn (A B, B A, A B, ...), and fix their number before.
Runs that took turns are compared in pairs, others as two groups.

changed        the interval lies outside the tolerance, and the test (Wilcoxon's
               signed-rank, or Mann-Whitney), adjusted for all metrics, agrees
equivalent     the interval lies inside the tolerance
undetermined   neither is shown: make more runs

The more metrics, the more pairs "changed" takes: 8 for 6 metrics, 10 for 20.
--metrics names those to decide on, by group (rate, errors, transaction,
endpoint, database, resources, generator, ledger) or as the table names
them.

Runs that are INVALID are left out. A comparison is no verdict: it exits with 0
once it was made, 2 when it could not be.`,
		Example: `  assay compare runs/before runs/after
  assay compare runs/before runs/after --metrics "transaction p95" --tolerance 5%
  assay compare runs/before runs/after --html comparison.html
  assay compare A B --json | jq -r '.metrics[] | select(.direction == "worse") | .metric'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return &usageError{"compare takes two folders, of one run or of several", "like: assay compare runs/before runs/after"}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return f.compare(c, args[0], args[1]) },
	}
	fs := c.Flags()
	fs.StringVar(&f.tolerance, "tolerance", "3%", "ratios up to this much from 1 count as no change")
	fs.StringSliceVar(&f.metrics, "metrics", nil, "groups or names of the metrics to decide on (default: all)")
	fs.BoolVar(&f.unpaired, "unpaired", false, "compare as two groups what could be paired")
	fs.BoolVar(&f.force, "force", false, "compare runs of different profiles or rates too")
	fs.BoolVar(&f.json, "json", false, "print the comparison as JSON")
	fs.StringVar(&f.html, "html", "", "write the comparison to this file as a page, too")
	return c
}

func (f *compareFlags) compare(c *cobra.Command, dirA, dirB string) error {
	tolerance, err := percentOf(c, "tolerance")
	if err != nil {
		return err
	}
	if err := f.checkPage(); err != nil {
		return err
	}
	var groups [2]compare.Group
	for i, dir := range []string{dirA, dirB} {
		if groups[i], err = readGroup(c.Context(), dir); err != nil {
			return err
		}
	}
	result, err := compare.Compare(groups[0], groups[1], compare.Options{
		Tolerance: tolerance, Unpaired: f.unpaired, Force: f.force, Metrics: f.metrics,
	})
	if err != nil {
		return err
	}
	if f.html != "" {
		html, err := page.HTML(report.Full(result))
		if err != nil {
			return err
		}
		if err := record.WriteFile(f.html, html); err != nil {
			return err
		}
	}
	if f.json {
		data, err := compare.Marshal(result)
		if err != nil {
			return err
		}
		_, err = c.OutOrStdout().Write(data)
		return err
	}
	if _, err := c.OutOrStdout().Write(page.Terminal(report.Summary(result), page.Columns, false)); err != nil {
		return err
	}
	if f.html != "" {
		_, err = fmt.Fprintf(c.OutOrStdout(), "\n  %s\n", f.html)
	}
	return err
}

// checkPage finds before minutes of judging that the page has no place to be.
func (f *compareFlags) checkPage() error {
	if f.html == "" {
		return nil
	}
	dir := filepath.Dir(f.html)
	switch info, err := os.Stat(dir); {
	case err != nil:
		return &usageError{fmt.Sprintf("--html %s cannot be written: %s: %v", f.html, dir, errors.Unwrap(err)), "make the folder first: mkdir -p " + dir}
	case !info.IsDir():
		return &usageError{fmt.Sprintf("--html %s cannot be written: %s is no folder", f.html, dir), "name a file in a folder that is there"}
	}
	if info, err := os.Stat(f.html); err == nil && info.IsDir() {
		return &usageError{fmt.Sprintf("--html %s is a folder", f.html), "name a file in it, like: --html " + filepath.Join(f.html, "comparison.html")}
	}
	return nil
}

// readGroup reads a run folder, or the run folders that a folder holds; links
// in it, such as runs/latest, lead to runs that it holds already.
func readGroup(ctx context.Context, dir string) (compare.Group, error) {
	g := compare.Group{Name: dir}
	if _, err := os.Stat(dir); err != nil {
		return g, &usageError{fmt.Sprintf("%s cannot be read: %v", dir, errors.Unwrap(err)), "name a run folder, or a folder of run folders"}
	}
	if r, err := readRun(dir); !errors.Is(err, record.ErrNoRun) {
		g.Runs = []compare.Run{r}
		return g, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return g, &usageError{fmt.Sprintf("%s is no folder of runs", dir), "name a run folder, or a folder of run folders"}
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		if err := ctx.Err(); err != nil {
			return g, err
		}
		path := filepath.Join(dir, e.Name())
		switch r, err := readRun(path); {
		case errors.Is(err, record.ErrNoRun): // another folder
		case errors.Is(err, record.ErrNotSealed):
			g.LeftOut = append(g.LeftOut, compare.LeftOut{Folder: path, Reason: record.ErrNotSealed.Error()})
		case err != nil: // a record that was changed is no accident to look away from
			return g, err
		default:
			g.Runs = append(g.Runs, r)
		}
	}
	if len(g.Runs)+len(g.LeftOut) == 0 {
		return g, &usageError{fmt.Sprintf("%s holds no run folder", dir), "name a run folder, or a folder of run folders"}
	}
	return g, nil
}

// readRun judges one run again. What certificate.json says may be of another
// version of the rules, or not be there.
func readRun(dir string) (compare.Run, error) {
	r, err := record.Open(dir)
	if err != nil {
		return compare.Run{}, err
	}
	return compare.Run{Folder: dir, Certificate: certificate.Of(r)}, nil
}
