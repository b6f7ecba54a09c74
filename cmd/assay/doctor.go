package main

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"assay.dev/assay/internal/cli"
	"assay.dev/assay/internal/cli/making"
	"assay.dev/assay/internal/thresholds"

	"github.com/spf13/cobra"

	"assay.dev/assay/internal/doctor"
	"assay.dev/assay/internal/observe/influx"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/system"
)

// doctorFlags are the options of `assay doctor`.
type doctorFlags struct {
	making.Flags
	load making.Load
}

func newDoctor() *cobra.Command {
	var f doctorFlags
	c := &cobra.Command{
		Use:   "doctor [PROFILE...]",
		Short: "Check this machine, the target and the database, and say how to fix problems",
		Long: `Doctor checks what a run needs, and says how to fix what is missing. It sends no
load. It checks this machine (descriptors, ports, CPUs, memory, disk, clock), the
target, the database (privileges, instruments, connections, ledger) and InfluxDB
(where it creates a missing database). For profiles it also checks what their plans
need, and initialises their scripts. Certify makes the same checks before every run.

Without --target it checks the local stack if that is up; it starts nothing.
The exit code is 0 if no check failed, otherwise 2. Warnings do not count.`,
		Example: `  assay doctor
  assay doctor payment ingestion
  assay doctor payment --rate 5000 --workers 4
  assay doctor --json | jq '.findings[] | select(.state != "ok")'

  # A remote service and its database; the password stays in the environment.
  export ASSAY_DB='assay:secret@tcp(db.test:3306)/shop'
  assay doctor checkout --target https://shop.test --allow-target shop.test`,
		RunE: func(c *cobra.Command, args []string) error { return f.doctor(c, args) },
	}
	f.AddSystem(c)
	f.load.Add(c)
	c.Flags().BoolVar(&f.JSON, "json", false, "print the findings as JSON")
	return c
}

func (f *doctorFlags) doctor(c *cobra.Command, names []string) (err error) {
	file := spec.File{Path: f.Thresholds}
	// The file may be missing if no profile was named.
	if _, missing := os.Stat(f.Thresholds); len(names) > 0 || c.Flags().Changed("thresholds") || !errors.Is(missing, fs.ErrNotExist) {
		if file, err = thresholds.Read(c.Context(), f.Thresholds); err != nil {
			return err
		}
	}
	o, err := f.Unsealed(c, file)
	if err != nil {
		return err
	}
	profiles, err := f.load.Change(c).Profiles(file, names)
	if err != nil {
		return err
	}
	databases, err := system.ParseDatabases(f.DB, f.Readers, os.Getenv("ASSAY_DB"))
	if err != nil {
		return err
	}
	all, err := system.Examine(c.Context(), o, profiles, databases, f.DB != "", influx.FromEnvironment())
	if err != nil {
		return err
	}
	if f.JSON {
		var data []byte
		if data, err = all.Marshal(time.Now()); err == nil {
			err = cli.PrintJSON(c, data)
		}
	} else {
		err = all.WriteText(c.OutOrStdout())
	}
	if err == nil && all.Count(doctor.Lacking) > 0 {
		err = cli.ExitCode(cli.ExitError)
	}
	return err
}
