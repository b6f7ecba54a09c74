package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"assay/harness/doctor"
	"assay/harness/lab/stack"
	"assay/harness/plan"
	"assay/harness/spec"
)

func newDoctor() *cobra.Command {
	var f certifyFlags
	c := &cobra.Command{
		Use:   "doctor [PROFILE...]",
		Short: "What this machine, the target and the database lack, and what mends it",
		Long: `Doctor looks at what a run needs, and sends no load: this machine (descriptors,
ports, CPUs, memory, disk, clock), the target, the database (rights, instruments,
connections, ledger), InfluxDB (whose database it makes where it is missing). With profiles it measures their plans too, and
initialises their scripts. Certify does the same before every run.

Without --target it looks at the local stack where that is up; it starts nothing.
The exit code is 0 when nothing is lacking, else 2. Warnings do not count.`,
		Example: `  assay doctor
  assay doctor payment ingestion
  assay doctor payment --rate 5000 --workers 4
  assay doctor --json | jq '.findings[] | select(.state != "ok")'

  # A service elsewhere, and its database: the password stays in the environment.
  export ASSAY_DB='assay:secret@tcp(db.test:3306)/shop'
  assay doctor checkout --target https://shop.test --allow-target shop.test`,
		RunE: func(c *cobra.Command, args []string) error { return f.doctor(c, args) },
	}
	f.addShared(c)
	c.Flags().BoolVar(&f.json, "json", false, "print the findings as JSON")
	return c
}

// checkStack is the check of the local stack, which is no part of a run.
const checkStack = "stack"

func (f *certifyFlags) doctor(c *cobra.Command, names []string) error {
	ctx := c.Context()
	file := spec.File{Path: f.thresholds}
	// Where no profile is named, it need not be there.
	if _, err := os.Stat(f.thresholds); len(names) > 0 || c.Flags().Changed("thresholds") || !errors.Is(err, fs.ErrNotExist) {
		if file, err = readThresholds(f.thresholds); err != nil {
			return err
		}
	}
	profiles, err := f.profiles(c, file, names)
	if err != nil {
		return err
	}
	s := doctor.Subject{
		File: file, Run: runID("doctor"), Seed: 1, Dir: f.runs, Target: f.target, AllowHosts: f.allow,
		Influx: doctor.Influx{URL: os.Getenv("ASSAY_INFLUX_URL"), Token: os.Getenv("ASSAY_INFLUX_TOKEN")},
	}
	db, err := databaseNamed(f.db, f.readers, os.Getenv("ASSAY_DB"))
	if err != nil {
		return err
	}
	s.DSN, s.Insights, s.Readers = db.dsn, db.insights, db.readers
	if s.Executable, err = os.Executable(); err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	for _, p := range profiles {
		pl, err := plan.New(p, f.workers, s.Seed)
		if err != nil {
			return err
		}
		s.Loads = append(s.Loads, doctor.Load{Profile: p, Plan: pl})
	}
	all := doctor.Machine(s)
	for _, p := range profiles {
		found, err := f.decides(p)
		if err != nil {
			return err
		}
		all = append(all, found...)
	}
	if s.Target == "" {
		state, found := lookAtStack(stack.DefaultDir)
		all = append(all, found)
		if state != nil {
			s.Target = state.TargetURL()
			if f.db == "" {
				s.DSN, s.Insights = state.CollectorDSN(), nil
			}
		}
	}
	all = append(all, doctor.Outside(ctx, s)...)
	if ctx.Err() != nil { // what was cut short says nothing
		return context.Cause(ctx)
	}
	show := tellFindings
	if f.json {
		show = marshalFindings
	}
	if err := show(c.OutOrStdout(), all); err != nil {
		return err
	}
	if all.Count(doctor.Lacking) > 0 {
		return exitCode(exitError)
	}
	return nil
}

// lookAtStack tells of the local stack, which is the target where none is
// named; its state, if it is up.
func lookAtStack(dir string) (*stack.State, doctor.Finding) {
	f := doctor.Finding{Check: checkStack, State: doctor.OK, Needed: "up, or can be started"}
	bad := func(observed, why, remedy string) (*stack.State, doctor.Finding) {
		f.State, f.Observed, f.Why, f.Remedy = doctor.Lacking, observed, why, remedy
		return nil, f
	}
	state, processes, err := stack.Status(dir)
	if err != nil {
		return bad("not known", err.Error(), "assay stack status")
	}
	down := ""
	for _, p := range processes {
		if p.Condition != stack.IsUp && p.Name != stack.InfluxName { // which a run can do without
			down = fmt.Sprintf("%s is %s", p.Name, p.Condition)
		}
	}
	if state != nil && down == "" {
		f.Observed = "up, at " + state.TargetURL()
		return state, f
	}
	server, err := stack.Server(dir)
	if err != nil {
		return bad("down, and cannot be started", err.Error(), "apt-get install mariadb-server-core; or name a service of your own with --target")
	}
	f.Observed = fmt.Sprintf("%s; certify starts it, with %s %s, or: assay stack up", down, server.Flavour, server.Version)
	return nil, f
}

// tellFindings prints a table, and below it what is wrong and what mends it.
func tellFindings(w io.Writer, all doctor.Findings) error {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "check\tstate\tobserved\tneeded")
	for _, f := range all {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", nameOf(f), f.State, f.Observed, f.Needed)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, f := range all {
		if f.State != doctor.OK {
			fmt.Fprintf(&b, "\n%s  %s: %s\n", f.State, nameOf(f), f.Why)
			if f.Remedy != "" {
				fmt.Fprintf(&b, "  hint: %s\n", f.Remedy)
			}
		}
	}
	switch lacking, warnings := all.Count(doctor.Lacking), all.Count(doctor.Warning); {
	case lacking > 0:
		fmt.Fprintf(&b, "\nlacking: %d, warnings: %d; no run can start\n", lacking, warnings)
	default:
		fmt.Fprintf(&b, "\nnothing is lacking, warnings: %d\n", warnings)
	}
	for line := range strings.Lines(b.String()) {
		if _, err := fmt.Fprintln(w, strings.TrimRight(line, " \n")); err != nil {
			return err
		}
	}
	return nil
}

func nameOf(f doctor.Finding) string {
	if f.Profile == "" {
		return f.Check
	}
	return f.Check + " " + f.Profile
}

// marshalFindings prints them as JSON.
func marshalFindings(w io.Writer, all doctor.Findings) error {
	data, err := json.MarshalIndent(struct {
		Schema   string          `json:"schema"`
		At       time.Time       `json:"at"`
		Lacking  int             `json:"lacking"`
		Warnings int             `json:"warnings"`
		Findings doctor.Findings `json:"findings"`
	}{"assay/findings/v1", time.Now().UTC().Truncate(time.Second), all.Count(doctor.Lacking), all.Count(doctor.Warning), all}, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(data, '\n'))
	return err
}
