package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"assay.dev/assay/internal/cli"
	"assay.dev/assay/internal/load/fleet"
	"assay.dev/assay/internal/load/fleet/local"
	"assay.dev/assay/internal/run"
)

// Engines that are the default of a command.
const (
	engineLocal      = "local"
	engineKubernetes = "kubernetes"
)

// engine is one way to start workers.
type engine struct {
	name     string
	here     bool // workers run on this machine, and reach the coordinator by loopback
	command  bool // it takes a command after --
	cluster  bool // it has manifests, for --dry-run and for a coordinator in the cluster
	operator bool // the k6-operator makes the pods
	// constructor of a run's engine; a dry run prints the manifests instead
	of func(f *fleetFlags, e engine, c *cobra.Command, o *run.Options) (fleet.Engine, error)
}

// engines are all of them: what the command line says of engines follows from this table.
var engines = []engine{
	{name: engineLocal, here: true, of: always(local.Engine{})},
	{name: "join", of: always(fleet.Others{})},
	{name: "exec", command: true, of: func(f *fleetFlags, _ engine, _ *cobra.Command, _ *run.Options) (fleet.Engine, error) {
		return local.Engine{Command: f.command}, nil
	}},
	{name: engineKubernetes, cluster: true, of: (*fleetFlags).inCluster},
	{name: "k6-operator", cluster: true, operator: true, of: (*fleetFlags).inCluster},
}

func always(e fleet.Engine) func(*fleetFlags, engine, *cobra.Command, *run.Options) (fleet.Engine, error) {
	return func(*fleetFlags, engine, *cobra.Command, *run.Options) (fleet.Engine, error) { return e, nil }
}

// engineNames lists the names of engines: "a, b or c".
func engineNames(which func(engine) bool) string {
	var names []string
	for _, e := range engines {
		if which(e) {
			names = append(names, e.name)
		}
	}
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

func anyEngine(engine) bool { return true }

func (e engine) inCluster() bool { return e.cluster }

func (e engine) takesCommand() bool { return e.command }

// chosen is the engine that --engine names; the zero value: there is none of that name.
func (f *fleetFlags) chosen() (e engine) {
	if i := slices.IndexFunc(engines, func(e engine) bool { return e.name == f.engine }); i >= 0 {
		e = engines[i]
	}
	return e
}

// connect makes the engine of each run. A dry run prints the manifests instead.
func (f *fleetFlags) connect(c *cobra.Command, runs []run.Options) (err error) {
	e := f.chosen()
	for i := range runs {
		if runs[i].Engine, err = e.of(f, e, c, &runs[i]); err != nil {
			return err
		}
	}
	return nil
}

// takeCommand takes the command after -- from the arguments, and returns those before it.
func (f *fleetFlags) takeCommand(c *cobra.Command, args []string) []string {
	if at := c.ArgsLenAtDash(); at >= 0 {
		args, f.command = args[:at], args[at:]
	}
	return args
}

// checkEngine refuses an unknown engine, and options that the engine has no use for.
func (f *fleetFlags) checkEngine() error {
	e := f.chosen()
	switch {
	case e.name == "":
		return cli.Usage("for example: --engine kubernetes", "--engine is %q: it must be %s", f.engine, engineNames(anyEngine))
	case f.kubernetes.dryRun && !e.cluster:
		return cli.Usage("for example: --engine kubernetes --dry-run", "--dry-run prints the manifests of --engine %s", engineNames(engine.inCluster))
	case e.command != (len(f.command) > 0):
		return cli.Usage(`for example: --engine exec --workers 2 -- 'ssh load-$ASSAY_WORKER ...' (docs/fleets.md)`,
			"--engine %s and -- COMMAND go together", engineNames(engine.takesCommand))
	}
	return nil
}
