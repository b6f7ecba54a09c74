package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"

	"assay.dev/assay/internal/cli"
	"assay.dev/assay/internal/cluster"
	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/judge/sealed"
	"assay.dev/assay/internal/load/fleet"
	"assay.dev/assay/internal/observe/collect/stubs"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/run"
	"assay.dev/assay/internal/signature"
	"assay.dev/assay/internal/system"
	"assay.dev/assay/internal/trial"
	"assay.dev/assay/internal/trial/attempts"
	"assay.dev/assay/internal/trial/incluster"
)

// kubernetesCertifyFlags are the options of `assay kubernetes certify`.
type kubernetesCertifyFlags struct {
	certifyFlags
	databaseSecret string
	cpu, memory    string
}

func newKubernetesCertify() *cobra.Command {
	var f kubernetesCertifyFlags
	c := &cobra.Command{
		Use:   "certify PROFILE...",
		Short: "Certify with coordinator and workers in the cluster",
		Long: `Certify runs each profile as assay certify does, but in the cluster: a Job runs the
coordinator, which starts the workers, reads the database's waits and the metrics of
each pod behind the target's Service, and judges. The files of the project go there
in a Secret. The run folder comes back through the API, is signed here if
ASSAY_SIGNING_KEY is set, and everything in the cluster is removed, on Ctrl-C too.

The database's DSN comes from ASSAY_DB here, in a Secret that is removed after the
run, or from a Secret of your own: --db-secret NAME/KEY. ASSAY_KAFKA,
ASSAY_INFLUX_URL and ASSAY_INFLUX_TOKEN go the same way; Kafka and the InfluxDB must be
reachable from the cluster.

The permissions that it needs are a Role: assay kubernetes rbac.`,
		Example: `  assay kubernetes certify checkout --workers 20 --target http://shop.prod.svc:8080 \
    --allow-target shop.prod.svc --kubernetes-image registry.example.com/assay:1.0
  assay kubernetes certify checkout --target http://shop --allow-target shop --db-secret shop-database/dsn
  assay kubernetes certify checkout --target http://shop --allow-target shop --dry-run`,
		Args: cli.Arguments(1, 1000, "no profile was named", "for example: assay kubernetes certify payment"),
		RunE: func(c *cobra.Command, args []string) error { return f.certifyInCluster(c, args) },
	}
	f.AddSystem(c)
	c.Flags().Lookup("target").Usage = "base URL of the system under test, as pods reach it (default: ASSAY_TARGET)"
	f.fleet.addEngine(c, engineKubernetes, "who makes the workers' pods: "+engineNames(engine.inCluster))
	f.fleet.kubernetes.add(c)
	f.load.Add(c)
	f.AddResult(c, "run folder; with several profiles, their parent folder (default: runs/RUN-ID)",
		"seed of arrivals and data (default: a random one, recorded)", "print certificate.json instead of the summary")
	_ = c.Flags().MarkHidden("keep-stack") // there is none
	c.Flags().StringVar(&f.scope, "scope", "", "smoke, or certificate, which requires a hold of 600 s (default: by the length of the hold)")
	c.Flags().StringVar(&f.databaseSecret, "db-secret", "", "Secret in the namespace that holds the database's DSN with its password, as NAME/KEY (instead of ASSAY_DB)")
	c.Flags().StringVar(&f.cpu, "coordinator-cpu", "500m", "CPUs that the coordinator's pod requests")
	c.Flags().StringVar(&f.memory, "coordinator-memory", "1Gi", "memory that the coordinator's pod requests, which is its limit too")
	return c
}

func (f *kubernetesCertifyFlags) certifyInCluster(c *cobra.Command, names []string) error {
	if err := f.checkInCluster(); err != nil {
		return err
	}
	key, err := signature.FromEnvironment()
	if err != nil {
		return err
	}
	runs, err := f.plan(c, names)
	if err != nil {
		return err
	}
	if err := each(runs, f.checkRun); err != nil {
		return err
	}
	target := &cluster.Cluster{Namespace: f.fleet.kubernetes.Namespace}
	if !f.fleet.kubernetes.dryRun || target.Namespace == "" {
		if target, err = cluster.Connect(f.fleet.kubernetes.Options); err != nil {
			return err
		}
	}
	f.fleet.kubernetes.Namespace = target.Namespace
	jobs := map[string]incluster.Job{} // by the ids of their runs
	for i, o := range runs {
		if jobs[o.ID], err = f.job(c, target, o); err != nil {
			return err
		}
		if err := f.show(c, jobs[o.ID], o); err != nil || f.fleet.kubernetes.dryRun && i == len(runs)-1 {
			return err
		}
	}
	cli.IgnoreBrokenPipe() // what is created must be removed
	if err := target.Reach(c.Context()); err != nil {
		return err
	}
	if err := target.CheckEndRights(c.Context()); err != nil {
		return err
	}
	if f.Out == "" {
		if err := trial.CheckLatest(f.Runs); err != nil {
			return err
		}
	}
	console := &trial.Console{W: c.ErrOrStderr(), Quiet: f.Quiet}
	f.make = func(ctx context.Context, o run.Options, p *trial.Progress) (sealed.Result, error) {
		job := jobs[o.ID]
		earlier, err := attempts.Of(o.File.Path, o.Runs).Hand(o.ID, o.Profile, o.Target)
		if err != nil {
			return sealed.Result{}, err
		}
		job.Command = append(slices.Clone(job.Command), "--earlier", earlier)
		err = incluster.Run(ctx, o.ForceStop, target, job, o.Dir, func(line string) { p.Line(line) })
		if errors.Is(err, incluster.ErrNotRemoved) { // which has no effect on the verdict
			cli.PrintError(c.ErrOrStderr(), err)
			err = nil
		}
		if err == nil { // whoever can change the pod may have put anything into it
			err = record.CheckAsked(o.Dir, record.Plan{
				Run: o.ID, Profile: o.Profile, Target: o.Target, Scope: o.Scope, Thresholds: record.Digest{SHA256: o.File.Digest}, Overrides: o.Overrides,
			})
		}
		if err == nil {
			err = record.WriteSeal(o.Dir, o.Sealer) // the coordinator had no key
		}
		if err != nil {
			return sealed.Result{}, err
		}
		return sealed.Open(o.Dir)
	}
	return f.runAll(c, console, runs, key)
}

// checkInCluster refuses what a coordinator in a cluster cannot do.
func (f *kubernetesCertifyFlags) checkInCluster() error {
	if !f.fleet.chosen().cluster {
		return cli.Usage("for example: --engine k6-operator", "--engine is %q: in a cluster it must be %s", f.fleet.engine, engineNames(engine.inCluster))
	}
	fromHere := os.Getenv("ASSAY_DB")
	if f.databaseSecret != "" {
		fromHere = ""
	}
	// The options become a part of the Job's manifest.
	if err := system.CheckDatabases(f.DB, f.Readers, fromHere); err != nil {
		return err
	}
	name, key, _ := strings.Cut(f.databaseSecret, "/")
	if f.databaseSecret != "" && len(validation.IsDNS1123Subdomain(name))+len(validation.IsConfigMapKey(key)) > 0 {
		return cli.Usage("for example: --db-secret shop-database/dsn", "--db-secret is %q: it must be NAME/KEY", f.databaseSecret)
	}
	return nil
}

// checkRun fails before a run that could not be brought back, or that has no target.
func (f *kubernetesCertifyFlags) checkRun(o run.Options) error {
	if err := checkTarget(o); err != nil || f.fleet.kubernetes.dryRun {
		return err
	}
	return incluster.CheckFolder(o.Dir)
}

// unknownAddress stands, in a dry run, for that of the coordinator's pod (RFC 5737).
const unknownAddress = "https://192.0.2.1:7077"

// show prints the manifests of a run, if it is a dry run, and checks the patch of them.
func (f *kubernetesCertifyFlags) show(c *cobra.Command, j incluster.Job, o run.Options) error {
	unpatched := j
	unpatched.Patch = nil
	coordinator, err := unpatched.Manifests()
	if err != nil {
		return err
	}
	workers, err := f.fleet.kubernetes.manifests(c.Context(), o, f.fleet.chosen(), unknownAddress)
	if err != nil {
		return err
	}
	return f.fleet.kubernetes.show(c, j.Patch, slices.Concat(coordinator, workers))
}

// job describes the coordinator's Job of a run.
func (f *kubernetesCertifyFlags) job(c *cobra.Command, target *cluster.Cluster, o run.Options) (j incluster.Job, err error) {
	s, err := f.fleet.kubernetes.settings(c.Context(), o.Profile.Name, f.fleet.chosen())
	if err != nil {
		return j, err
	}
	j = incluster.Job{
		Name: s.Name, Namespace: target.Namespace, Image: s.Image, Patch: s.Patch,
	}
	if j.Resources, err = resources("--coordinator-cpu", f.cpu, "--coordinator-memory", f.memory); err != nil {
		return j, err
	}
	p, err := plan.New(o.Profile, o.Workers, o.Seed)
	if err != nil {
		return j, err
	}
	j.Secrets, j.FromSecrets = f.secrets()
	j.StartTimeout, j.Longest = f.fleet.join.Timeout, run.Longest(o, p)
	folder := ""
	if j.Project, folder, err = pack(c.Context(), o); err != nil {
		return j, err
	}
	if path := f.fleet.kubernetes.patch; path != "" {
		if j.PatchText, err = foreign.ReadText(c.Context(), path, cluster.MaxPatch); err != nil {
			return j, fmt.Errorf("read the patch of manifests: %w", err)
		}
	}
	j.Command = f.command(o, folder)
	return j, nil
}

// secrets are the variables of the coordinator that its manifest must not show, by their
// values here, and by the Secrets of the namespace that hold them.
func (f *kubernetesCertifyFlags) secrets() (values map[string]string, from map[string]incluster.Key) {
	values, from = map[string]string{}, map[string]incluster.Key{}
	for _, name := range []string{"ASSAY_DB", "ASSAY_DB_NODES", "ASSAY_KAFKA", "ASSAY_INFLUX_URL", "ASSAY_INFLUX_TOKEN", stubs.TokenEnv} {
		if value := os.Getenv(name); value != "" {
			values[name] = value
		}
	}
	if name, key, ok := strings.Cut(f.databaseSecret, "/"); ok {
		delete(values, "ASSAY_DB")
		from["ASSAY_DB"] = incluster.Key{Secret: name, Key: key}
	}
	return values, from
}

// pack packs the files that a run reads: thresholds, what its script opens, and those of its
// stubs. folder is that of the thresholds in the package.
func pack(ctx context.Context, o run.Options) (files []byte, folder string, err error) {
	// The script finds the database of the cluster, which may not be known here.
	dsn, nodes := cmp.Or(o.DSN, fleet.PlaceholderDSN), cmp.Or(o.Nodes, fleet.PlaceholderNodes)
	archive, err := fleet.Archive(ctx, o.Executable, fleet.MainOf(o.File, o.Profile), fleet.Environment(o.Profile, o.Target, o.ID, o.Seed, dsn, nodes))
	if err != nil {
		return nil, "", err
	}
	scripts, err := fleet.Files(archive, fleet.MainOf(o.File, o.Profile))
	if err != nil {
		return nil, "", err
	}
	paths := append([]string{o.File.Path}, scripts...)
	for _, s := range o.Profile.Stubs {
		if path := o.File.StubPath(s); path != "" {
			paths = append(paths, path)
		}
	}
	return incluster.Pack(paths...)
}

// command is the coordinator's command line, run in the folder of the thresholds file.
func (f *kubernetesCertifyFlags) command(o run.Options, folder string) []string {
	command := []string{
		"--folder", folder, "--", "certify", o.Profile.Name, "--thresholds", filepath.Base(o.File.Path), "--engine", f.fleet.engine,
		"--workers", strconv.Itoa(o.Workers), "--target", o.Target, "--seed", strconv.FormatUint(o.Seed, 10), "--scope", o.Scope,
		"--weights", f.fleet.weights, "--join-timeout", f.fleet.join.Timeout.String(), "--run-id", o.ID,
		"--kubernetes-name", f.fleet.kubernetes.nameOf(o.Profile.Name), "--kubernetes-cpu", f.fleet.kubernetes.cpu, "--kubernetes-memory", f.fleet.kubernetes.memory,
	}
	for _, host := range f.Allow {
		command = append(command, "--allow-target", host)
	}
	for _, dsn := range f.Readers {
		command = append(command, "--db-reader", dsn)
	}
	if f.DB != "" {
		command = append(command, "--db", f.DB)
	}
	for _, name := range []string{"rate", "hold"} {
		if value, changed := o.Overrides[name]; changed {
			command = append(command, "--"+name, value)
		}
	}
	if f.fleet.kubernetes.patch != "" {
		command = append(command, "--kubernetes-patch", incluster.PatchPath)
	}
	return command
}
