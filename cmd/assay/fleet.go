package main

import (
	"cmp"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"assay.dev/assay/internal/cli"

	"github.com/spf13/cobra"

	"assay.dev/assay/internal/cluster"
	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/load/fleet"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/run"
	"assay.dev/assay/internal/trial/attempts"
	"assay.dev/assay/internal/wire"
)

// envListen names the address for --listen, as in a container. It is for workers that run
// elsewhere: if they wait already, they must not join a run that starts its own.
const envListen = "ASSAY_LISTEN"

// fleetFlags are the options on workers from other machines.
type fleetFlags struct {
	engine  string
	weights string
	join    run.Join
	resume  string   // run folder
	command []string // after --: starts a worker

	kubernetes kubernetesFlags
}

func (f *fleetFlags) add(c *cobra.Command) {
	fs := c.Flags()
	f.addEngine(c, engineLocal, "where workers come from: "+engineNames(anyEngine))
	fs.StringVar(&f.join.Listen, "listen", "", "address to listen on for workers and OTLP, like 10.0.0.5:7077 (default: ASSAY_LISTEN if workers run elsewhere; with --engine local a free port of loopback)")
	fs.StringVar(&f.join.Advertise, "advertise", "", "address that workers are told, if it is not the one to listen on, like load.example.com:7077")
	fs.StringVar(&f.join.Certificate, "tls-cert", "", "TLS certificate to show to workers (default: one made for the run)")
	fs.StringVar(&f.join.Key, "tls-key", "", "private key of --tls-cert")
	fs.StringVar(&f.resume, "resume", "", "continue the run in this folder, whose coordinator was killed under load, with its ASSAY_JOIN_TOKEN")
	f.kubernetes.add(c)
}

// addEngine adds the options on how workers are started.
func (f *fleetFlags) addEngine(c *cobra.Command, engine, usage string) {
	fs := c.Flags()
	fs.StringVar(&f.engine, "engine", engine, usage)
	fs.DurationVar(&f.join.Timeout, "join-timeout", run.DefaultJoinTimeout, "how long to wait for workers to join (and in a cluster for the coordinator's pod to start)")
	fs.StringVar(&f.weights, "weights", "equal", "shares of the load: equal, or cpus, in proportion to the workers' CPUs")
}

// inCluster is the engine of a run in a cluster, whose coordinator is this process. If it is a
// dry run, it prints the manifests instead.
func (f *fleetFlags) inCluster(e engine, c *cobra.Command, o *run.Options) (fleet.Engine, error) {
	if err := checkAddress(o.Join.Listen, o.Join.Advertise); err != nil {
		return nil, err
	}
	if err := checkTarget(*o); err != nil {
		return nil, err
	}
	s, err := f.kubernetes.settings(c.Context(), o.Profile.Name, e)
	if err != nil {
		return nil, err
	}
	if coordinatorPod() == nil { // else the whole patch was checked before
		all, err := f.kubernetes.manifests(c.Context(), *o, e, "https://"+o.Join.Told())
		if err == nil {
			err = f.kubernetes.show(c, s.Patch, all)
		}
		if err != nil || f.kubernetes.dryRun {
			return nil, err
		}
	}
	if f.kubernetes.dryRun {
		return nil, nil //nolint:nilnil // no run follows
	}
	engine, err := f.kubernetes.engine(c.Context(), s)
	if err == nil && cluster.Inside() {
		o.TargetService = targetService(c.Context(), engine.Cluster, o.Target)
	}
	return engine, err
}

// apply sets the options of a run.
func (f *fleetFlags) apply(o *run.Options) error {
	if err := f.checkEngine(); err != nil {
		return err
	}
	if f.weights != "equal" && f.weights != "cpus" {
		return cli.Usage("for example: --weights cpus", "--weights is %q: it must be equal or cpus", f.weights)
	}
	if f.join.Timeout < time.Second {
		return cli.Usage("for example: --join-timeout 10m", "--join-timeout is %s: it must be at least 1s", f.join.Timeout)
	}
	for _, a := range []struct{ name, value string }{
		{"--listen", f.join.Listen}, {"--advertise", f.join.Advertise}, {envListen, os.Getenv(envListen)},
	} {
		if host, port, err := net.SplitHostPort(a.value); a.value != "" && (err != nil || host == "" || port == "") {
			return cli.Usage("for example: 10.0.0.5:7077; 0.0.0.0:7077 is every address of this host", "%s is %q: it must be ADDRESS:PORT", a.name, a.value)
		}
	}
	if (f.join.Certificate == "") != (f.join.Key == "") {
		return cli.Usage("name both files, or neither", "--tls-cert and --tls-key go together")
	}
	o.Join = f.join
	o.Join.Remote, o.Join.ByCPUs, o.Join.Token = !f.chosen().here, f.weights == "cpus", os.Getenv(wire.EnvJoinToken)
	if o.Join.Remote {
		o.Join.Listen = cmp.Or(f.join.Listen, os.Getenv(envListen))
	}
	return nil
}

// resumesIn reports whether the run to continue is in this folder of runs.
func (f *fleetFlags) resumesIn(runs string) bool {
	return f.resume != "" && filepath.Dir(filepath.Clean(f.resume)) == filepath.Clean(runs)
}

// continued are the options of a run that goes on, with what its record says.
func (f *fleetFlags) continued(shared run.Options, names []string) ([]run.Options, error) {
	p, err := record.ReadPlan(f.resume)
	if err != nil {
		return nil, err
	}
	if len(names) > 0 && !slices.Equal(names, []string{p.Profile.Name}) {
		return nil, cli.Usage("assay certify --resume "+f.resume, "%s is a run of profile %s", f.resume, p.Profile.Name)
	}
	o := shared
	o.Resume, o.Dir, o.ID, o.Profile, o.Target, o.Undecided = true, f.resume, p.Run, p.Profile, p.Target, verdict.Undecided
	o.Count = attempts.Of(o.File.Path, o.Runs).Begin // it counted this one when it began
	return []run.Options{o}, nil
}
