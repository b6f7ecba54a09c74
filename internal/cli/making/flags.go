package making

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"assay.dev/assay/internal/cli"
	"assay.dev/assay/internal/localstack"
	"assay.dev/assay/internal/observe/collect/databases"
	"assay.dev/assay/internal/observe/collect/stubs"
	"assay.dev/assay/internal/observe/influx"
	"assay.dev/assay/internal/program"
	"assay.dev/assay/internal/run"
	"assay.dev/assay/internal/signature"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/system"
	"assay.dev/assay/internal/trial"
	"assay.dev/assay/internal/version"
)

// Flags are the options of every command that makes runs.
type Flags struct {
	Thresholds string
	Workers    int
	Remote     bool // workers join from other machines
	Target     string
	Allow      []string
	DB         string
	Readers    []string
	Runs       string
	Out        string
	Seed       uint64
	KeepStack  bool
	Stack      localstack.Options // options of a local stack that is started; zero: its defaults
	JSON       bool
	Quiet      bool
}

// AddSystem adds the options on the system under test and the workers.
func (f *Flags) AddSystem(c *cobra.Command) {
	// The environment may name both, as in a container.
	c.PreRun = func(*cobra.Command, []string) {
		if f.Target == "" {
			f.Target = os.Getenv("ASSAY_TARGET")
		}
		if host := os.Getenv("ASSAY_ALLOW_TARGET"); host != "" {
			f.Allow = append(f.Allow, host)
		}
	}
	fs := c.Flags()
	fs.StringVar(&f.Thresholds, "thresholds", "thresholds.json", "file of profiles")
	fs.IntVar(&f.Workers, "workers", 1, "number of k6 workers")
	fs.StringVar(&f.Target, "target", "", "base URL of the system under test (default: ASSAY_TARGET, or else the local stack)")
	fs.StringArrayVar(&f.Allow, "allow-target", nil, "host that load may be sent to, in addition to loopback, \"targets\" of the thresholds file and ASSAY_ALLOW_TARGET")
	fs.StringVar(&f.DB, "db", "", "database DSN without the password, which ASSAY_DB holds; or pi:RESOURCE-ID?region=REGION, to read its waits from Performance Insights")
	fs.StringArrayVar(&f.Readers, "db-reader", nil, "DSN of a replica whose lag is watched (replica_lag), without the password, which is that of ASSAY_DB")
	fs.StringVar(&f.Runs, "runs", "runs", "folder of run folders")
}

// AddResult adds the options on results; an empty json leaves out the option of that name.
func (f *Flags) AddResult(c *cobra.Command, out, seed, json string) {
	fs := c.Flags()
	fs.StringVar(&f.Out, "out", "", out)
	fs.Uint64Var(&f.Seed, "seed", 0, seed)
	fs.BoolVar(&f.KeepStack, "keep-stack", false, "leave the local stack running if this command started it")
	if json != "" {
		fs.BoolVar(&f.JSON, "json", false, json)
	}
	fs.BoolVar(&f.Quiet, "quiet", false, "print no progress")
}

// ChooseSeed returns the seed of --seed, or a random one.
func (f *Flags) ChooseSeed(c *cobra.Command) uint64 {
	if c.Flags().Changed("seed") {
		return f.Seed
	}
	return trial.RandomSeed()
}

// Options returns the options that all runs of the command share.
func (f *Flags) Options(c *cobra.Command, file spec.File) (run.Options, error) {
	o, err := f.Unsealed(c, file)
	if err != nil {
		return o, err
	}
	key, err := signature.FromEnvironment()
	o.Sealer = signature.NewSealer(key)
	return o, err
}

// Unsealed is options without the key that seals the records.
func (f *Flags) Unsealed(c *cobra.Command, file spec.File) (run.Options, error) {
	most := spec.MaxWorkers
	if f.Remote {
		most = spec.MaxFleet
	}
	if f.Workers < 1 || f.Workers > most {
		return run.Options{}, cli.Usage("for example: --workers 4", "--workers is %d: it must be from 1 to %d", f.Workers, most)
	}
	nodes := os.Getenv("ASSAY_DB_NODES")
	if _, err := databases.ParseNodes(nodes); err != nil {
		return run.Options{}, fmt.Errorf("read ASSAY_DB_NODES: %w", err)
	}
	executable, err := program.Assay()
	if err != nil {
		return run.Options{}, err
	}
	return run.Options{
		Task:       run.Task{File: file, Workers: f.Workers, Runs: f.Runs},
		System:     run.System{Target: f.Target, AllowHosts: f.Allow, Nodes: nodes, StubToken: os.Getenv(stubs.TokenEnv)},
		Executable: executable, Tool: version.Tool(), Log: cli.Logger(c), ForceStop: cli.ForceStop(c.Context()),
	}, nil
}

// Acquire makes the system under test ready for runs of the profiles, and sets its options in
// o.
func (f *Flags) Acquire(c *cobra.Command, console *trial.Console, o *run.Options, profiles []spec.Profile, checkMachine func() error) (*system.System, error) {
	cli.IgnoreBrokenPipe()
	databases, err := system.ParseDatabases(f.DB, f.Readers, os.Getenv("ASSAY_DB"))
	if err != nil {
		return nil, err
	}
	s, err := system.Acquire(c.Context(), system.Options{
		Target: f.Target, Databases: databases, OwnDatabase: f.DB != "", Influx: influx.FromEnvironment(), Executable: o.Executable,
		Stack: f.Stack, KeepStack: f.KeepStack, Log: o.Log, Console: console, CheckMachine: checkMachine,
		File: o.File, Profiles: profiles, StubToken: o.StubToken,
	})
	if err != nil {
		return nil, err
	}
	s.Configure(o)
	return s, nil
}

// Load are the options that change a profile's load.
type Load struct {
	Rate float64
	Hold time.Duration
}

func (f *Load) Add(c *cobra.Command) {
	fs := c.Flags()
	fs.Float64Var(&f.Rate, "rate", 0, "target rate (default: the profile's); the baseline is scaled with it")
	fs.DurationVar(&f.Hold, "hold", 0, "length of the hold window (default: the profile's)")
}

// Change returns the command line's changes to the load.
func (f *Load) Change(c *cobra.Command) (l trial.LoadChange) {
	if c.Flags().Changed("rate") {
		l.Rate = &f.Rate
	}
	if c.Flags().Changed("hold") {
		l.Hold = &f.Hold
	}
	return l
}
