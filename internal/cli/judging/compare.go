// SPDX-License-Identifier: Apache-2.0

package judging

import (
	"github.com/spf13/cobra"

	"assay.dev/assay/internal/cli"
	"assay.dev/assay/internal/judge/compare"
	"assay.dev/assay/internal/judge/compare/report"
	"assay.dev/assay/internal/judge/page"
	"assay.dev/assay/internal/judge/sealed"
	"assay.dev/assay/internal/observe/record"
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

// Compare is the command compare.
func Compare() *cobra.Command {
	var f compareFlags
	c := &cobra.Command{
		Annotations: cli.Reads,
		Use:         "compare A B",
		Short:       "Compare two groups of runs: changed, equivalent or undetermined",
		Long: `Compare judges sealed runs again, from their records, and prints for each metric
the ratio of B to A with its 95 % confidence interval. A and B are run folders, or
folders of run folders.

The unit is the run: two single runs give a ratio, and no conclusion. Make at
least 6 pairs of runs, fix their number beforehand, and draw the order of each
pair. Interleaved runs are compared in pairs, others as two groups.

changed        the interval lies outside the tolerance, and the test (Wilcoxon's
               signed-rank, or Mann-Whitney), adjusted for all metrics, agrees
equivalent     the interval lies inside the tolerance
undetermined   neither is shown: make more runs

With more metrics "changed" needs more pairs: 8 for 6 metrics, 10 for 20.
--metrics selects them by group (rate, errors, transaction, endpoint, database,
resources, generator, ledger) or by name.

INVALID runs are left out. A comparison is not a verdict: the exit code is 0 for
every result, 2 if nothing could be compared.`,
		Example: `  assay compare runs/before runs/after
  assay compare runs/before runs/after --metrics "transaction p95" --tolerance 5%
  assay compare runs/before runs/after --html comparison.html
  assay compare A B --json | jq -r '.metrics[] | select(.direction == "worse") | .metric'`,
		Args: cli.Arguments(2, 2, "compare takes two folders, each of one run or of several", "for example: assay compare runs/before runs/after"),
		RunE: func(c *cobra.Command, args []string) error { return f.compare(c, args[0], args[1]) },
	}
	fs := c.Flags()
	fs.StringVar(&f.tolerance, "tolerance", "3%", "a ratio within 1 ± this counts as no change")
	fs.StringSliceVar(&f.metrics, "metrics", nil, "groups or names of the metrics to compare (default: all)")
	fs.BoolVar(&f.unpaired, "unpaired", false, "compare the runs as two groups, even if they are interleaved")
	fs.BoolVar(&f.force, "force", false, "also compare runs of different profiles or rates")
	fs.BoolVar(&f.json, "json", false, "print the comparison as JSON")
	fs.StringVar(&f.html, "html", "", "also write the comparison to this HTML file")
	return c
}

func (f *compareFlags) compare(c *cobra.Command, dirA, dirB string) error {
	tolerance, err := cli.PercentOf(c, "tolerance")
	if err != nil {
		return err
	}
	if f.html != "" {
		if err := record.CheckOutputFile("--html", f.html); err != nil {
			return err
		}
	}
	result, err := sealed.Compare(c.Context(), dirA, dirB, compare.Options{
		Tolerance: tolerance, Unpaired: f.unpaired, Force: f.force, Metrics: f.metrics,
	})
	if err != nil {
		return err
	}
	var paths []string
	if f.html != "" {
		html, err := page.HTML(report.Full(result))
		if err != nil {
			return err
		}
		if err := record.WriteFile(f.html, html); err != nil {
			return err
		}
		paths = []string{f.html}
	}
	return cli.PrintDocument(c, f.json, result, report.Summary(result), paths...)
}
