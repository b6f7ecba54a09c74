package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/judge/certificate/signature"
	"assay.dev/assay/internal/judge/page"
	"assay.dev/assay/internal/observe/collect/databases"
	"assay.dev/assay/internal/observe/collect/stubs"
	"assay.dev/assay/internal/observe/influx"
	"assay.dev/assay/internal/run"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/system"
	"assay.dev/assay/internal/trial"
	"assay.dev/assay/lab/stack"
)

// usage is the error of a wrong command line, with its hint.
func usage(next, format string, args ...any) error {
	return hint.With(fmt.Errorf(format, args...), next)
}

// runFlags are the options of every command that makes runs.
type runFlags struct {
	thresholds string
	workers    int
	remote     bool // workers join from other machines
	target     string
	allow      []string
	db         string
	readers    []string
	runs       string
	out        string
	seed       uint64
	keepStack  bool
	stack      stack.Options // of a local stack that is started; zero: its defaults
	json       bool
	quiet      bool
}

// addSystem adds the options on the system under test and the workers.
func (f *runFlags) addSystem(c *cobra.Command) {
	// The environment may name both, as in a container.
	c.PreRun = func(*cobra.Command, []string) {
		if f.target == "" {
			f.target = os.Getenv("ASSAY_TARGET")
		}
		if host := os.Getenv("ASSAY_ALLOW_TARGET"); host != "" {
			f.allow = append(f.allow, host)
		}
	}
	fs := c.Flags()
	fs.StringVar(&f.thresholds, "thresholds", "thresholds.json", "file of profiles")
	fs.IntVar(&f.workers, "workers", 1, "number of k6 workers")
	fs.StringVar(&f.target, "target", "", "base URL of the system under test (default: ASSAY_TARGET, or else the local stack)")
	fs.StringArrayVar(&f.allow, "allow-target", nil, "host that load may be sent to, in addition to loopback, \"targets\" of the thresholds file and ASSAY_ALLOW_TARGET")
	fs.StringVar(&f.db, "db", "", "database DSN without the password, which ASSAY_DB holds; or pi:RESOURCE-ID?region=REGION, to read its waits from Performance Insights")
	fs.StringArrayVar(&f.readers, "db-reader", nil, "DSN of a replica whose lag is watched (replica_lag), without the password, which is that of ASSAY_DB")
	fs.StringVar(&f.runs, "runs", "runs", "folder of run folders")
}

// addResult adds the options on results; an empty json leaves out the option of that name.
func (f *runFlags) addResult(c *cobra.Command, out, seed, json string) {
	fs := c.Flags()
	fs.StringVar(&f.out, "out", "", out)
	fs.Uint64Var(&f.seed, "seed", 0, seed)
	fs.BoolVar(&f.keepStack, "keep-stack", false, "leave the local stack running if this command started it")
	if json != "" {
		fs.BoolVar(&f.json, "json", false, json)
	}
	fs.BoolVar(&f.quiet, "quiet", false, "print no progress")
}

// chooseSeed returns the seed of --seed, or a random one.
func (f *runFlags) chooseSeed(c *cobra.Command) uint64 {
	if c.Flags().Changed("seed") {
		return f.seed
	}
	return trial.RandomSeed()
}

// options returns the options that all runs of the command share.
func (f *runFlags) options(c *cobra.Command, file spec.File) (run.Options, error) {
	o, err := f.unsealed(c, file)
	if err != nil {
		return o, err
	}
	key, err := signature.FromEnvironment()
	o.Sealer = signature.NewSealer(key)
	return o, err
}

// unsealed is options without the key that seals the records.
func (f *runFlags) unsealed(c *cobra.Command, file spec.File) (run.Options, error) {
	most := spec.MaxWorkers
	if f.remote {
		most = spec.MaxFleet
	}
	if f.workers < 1 || f.workers > most {
		return run.Options{}, usage("for example: --workers 4", "--workers is %d: it must be from 1 to %d", f.workers, most)
	}
	nodes := os.Getenv("ASSAY_DB_NODES")
	if _, err := databases.ParseNodes(nodes); err != nil {
		return run.Options{}, fmt.Errorf("read ASSAY_DB_NODES: %w", err)
	}
	executable, err := os.Executable()
	if err != nil {
		return run.Options{}, fmt.Errorf("find this program: %w", err)
	}
	return run.Options{
		File: file, Workers: f.workers, AllowHosts: f.allow, Runs: f.runs, Target: f.target, Nodes: nodes, StubToken: os.Getenv(stubs.TokenEnv),
		Executable: executable, Tool: trial.Tool(), Log: logger(c), ForceStop: forceStop(c.Context()),
	}, nil
}

// acquire makes the system under test ready for runs of the profiles, and sets its options in
// o.
func (f *runFlags) acquire(c *cobra.Command, console *trial.Console, o *run.Options, profiles []spec.Profile, checkMachine func() error) (*system.System, error) {
	ignoreBrokenPipe()
	databases, err := system.ParseDatabases(f.db, f.readers, os.Getenv("ASSAY_DB"))
	if err != nil {
		return nil, err
	}
	s, err := system.Acquire(c.Context(), system.Options{
		Target: f.target, Databases: databases, OwnDatabase: f.db != "", Influx: influx.FromEnvironment(), Executable: o.Executable,
		Stack: f.stack, KeepStack: f.keepStack, Log: o.Log, Console: console, CheckMachine: checkMachine,
		File: o.File, Profiles: profiles, StubToken: o.StubToken,
	})
	if err != nil {
		return nil, err
	}
	s.Configure(o)
	return s, nil
}

// logger writes warnings and errors to stderr.
func logger(c *cobra.Command) *slog.Logger {
	return slog.New(slog.NewTextHandler(c.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// loadFlags are the options that change a profile's load.
type loadFlags struct {
	rate float64
	hold time.Duration
}

func (f *loadFlags) add(c *cobra.Command) {
	fs := c.Flags()
	fs.Float64Var(&f.rate, "rate", 0, "target rate (default: the profile's); the baseline is scaled with it")
	fs.DurationVar(&f.hold, "hold", 0, "length of the hold window (default: the profile's)")
}

// change returns the command line's changes to the load.
func (f *loadFlags) change(c *cobra.Command) (l trial.LoadChange) {
	if c.Flags().Changed("rate") {
		l.Rate = &f.rate
	}
	if c.Flags().Changed("hold") {
		l.Hold = &f.hold
	}
	return l
}

// percentOf parses an option such as 5% as a share, 0.05.
func percentOf(c *cobra.Command, name string) (share float64, err error) {
	flag := c.Flags().Lookup(name)
	number, ok := strings.CutSuffix(strings.TrimSpace(flag.Value.String()), "%")
	percent, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if !ok || err != nil || !(percent > 0 && percent <= 100) {
		return 0, usage(fmt.Sprintf("for example: --%s %s", name, flag.DefValue), "--%s is %q: it must be a percentage above 0%% and up to 100%%", name, flag.Value)
	}
	return percent / 100, nil
}

// arguments checks the number of a command's arguments.
func arguments(least, most int, problem, next string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if n := len(args); n < least || n > most {
			return hint.With(errors.New(problem), next)
		}
		return nil
	}
}

func oneRun(c *cobra.Command, args []string) error {
	return arguments(1, 1, c.Name()+" takes one run folder", "for example: "+c.CommandPath()+" runs/latest")(c, args)
}

// printDocument prints a result as a page followed by the paths of its files, or as a
// JSON document.
func printDocument(c *cobra.Command, asJSON bool, document func() ([]byte, error), text func() page.Page, paths ...string) error {
	if asJSON {
		return printJSON(c, document)
	}
	f, ok := c.OutOrStdout().(*os.File)
	color := ok && term.IsTerminal(int(f.Fd())) && os.Getenv("NO_COLOR") == ""
	out := string(page.Terminal(text(), page.Columns, color))
	if len(paths) > 0 {
		out += "\n  " + strings.Join(paths, "\n  ") + "\n"
	}
	_, err := io.WriteString(c.OutOrStdout(), out)
	return err
}

func printJSON(c *cobra.Command, document func() ([]byte, error)) error {
	data, err := document()
	if err != nil {
		return err
	}
	_, err = c.OutOrStdout().Write(data)
	return err
}
