package main

import (
	"fmt"
	"syscall"

	"github.com/spf13/cobra"

	"assay.dev/assay/internal/program"
	"assay.dev/assay/internal/signature"
)

// moved are the commands that assay-lab has: each hands its arguments over.
func moved() (all []*cobra.Command) {
	for _, of := range [][2]string{
		{"stack", "Run a local database, InfluxDB and reference service"},
		{"target", "Run the reference payment and ingestion service"},
		{"tpcc", "Manage the database of the profile tpcc"},
		{"scale", "Measure how throughput grows with threads and rates"},
		{"reproduce", "Measure the system of a field report on this machine"},
	} {
		name := of[0]
		all = append(all, &cobra.Command{
			Use: name, Short: of[1] + " (moved: assay-lab " + name + ")", DisableFlagParsing: true, Hidden: true,
			RunE: func(c *cobra.Command, args []string) error { return handOver(c, name, args) },
		})
	}
	return all
}

// handOver replaces this program by a command of assay-lab, which so gets its terminal, its
// signals and its signing key, once.
func handOver(c *cobra.Command, name string, args []string) error {
	lab, err := program.Lab()
	if err != nil {
		return err
	}
	self, err := program.Assay()
	if err != nil {
		return err
	}
	fmt.Fprintf(c.ErrOrStderr(), "note: %s is now a command of assay-lab: %s %s\n", name, lab, name)
	return syscall.Exec(lab, append([]string{lab, name}, args...), append(signature.Environment(), program.Env+"="+self))
}
