package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"assay/harness/cluster"
	"assay/harness/hint"
	"assay/harness/judge/certificate/signature"
	"assay/harness/load/fleet"
	"assay/harness/observe/record"
	"assay/harness/plan"
	"assay/harness/run"
	"assay/harness/trial"
	"assay/harness/trial/incluster"
)

func newKubernetes() *cobra.Command {
	c := group(&cobra.Command{
		Use:   "kubernetes",
		Short: "Certify a service in a Kubernetes cluster, from within the cluster",
		Long: `Kubernetes runs the coordinator of a run as a Job in a namespace of a cluster, with
the workers beside it, and brings the run folder back through the cluster's API: the
certificate is the same as that of a run on this machine. For a coordinator on this
machine, with the workers in a cluster: assay certify --engine kubernetes.`,
		Example: `  assay kubernetes rbac --kubernetes-namespace load | kubectl apply -f -   # once, by an administrator
  assay kubernetes certify checkout --workers 20 --target http://shop.prod.svc:8080 --allow-target shop.prod.svc`,
	})
	c.AddCommand(newKubernetesCertify(), newKubernetesRBAC(), newCoordinate(), newExport(), newInterrupt())
	return c
}

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
in a ConfigMap. The run folder comes back through the API, is signed here if
ASSAY_SIGNING_KEY is set, and everything in the cluster is removed, on Ctrl-C too.

The database's DSN comes from ASSAY_DB here, in a Secret that is removed after the
run, or from a Secret of your own: --db-secret NAME/KEY. ASSAY_INFLUX_URL and
ASSAY_INFLUX_TOKEN go the same way; the InfluxDB must be reachable from the cluster.

The permissions that it needs are a Role: assay kubernetes rbac.`,
		Example: `  assay kubernetes certify checkout --workers 20 --target http://shop.prod.svc:8080 \
    --allow-target shop.prod.svc --kubernetes-image registry.example.com/assay:1.0
  assay kubernetes certify checkout --target http://shop --allow-target shop --db-secret shop-database/dsn
  assay kubernetes certify checkout --target http://shop --allow-target shop --dry-run`,
		Args: arguments(1, 1000, "no profile was named", "for example: assay kubernetes certify payment"),
		RunE: func(c *cobra.Command, args []string) error { return f.certifyInCluster(c, args) },
	}
	f.addSystem(c)
	c.Flags().Lookup("target").Usage = "base URL of the system under test, as pods reach it (default: ASSAY_TARGET)"
	f.fleet.addEngine(c, engineKubernetes, "who makes the workers' pods: kubernetes, or k6-operator")
	f.fleet.kubernetes.add(c)
	f.load.add(c)
	f.addResult(c, "run folder; with several profiles, their parent folder (default: runs/RUN-ID)",
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
	jobs := make([]incluster.Job, len(runs))
	for i, o := range runs {
		if jobs[i], err = f.job(c, target, o); err != nil {
			return err
		}
		if err := f.show(c, jobs[i], o); err != nil || f.fleet.kubernetes.dryRun && i == len(runs)-1 {
			return err
		}
	}
	ignoreBrokenPipe() // what is created must be removed
	if err := target.Reach(c.Context()); err != nil {
		return err
	}
	if f.out == "" {
		if err := trial.CheckLatest(f.runs); err != nil {
			return err
		}
	}
	console := &trial.Console{W: c.ErrOrStderr(), Quiet: f.quiet}
	next := 0
	f.make = func(ctx context.Context, o run.Options, p *trial.Progress) (trial.Result, error) {
		j := jobs[next]
		next++
		if err := incluster.Run(ctx, o.ForceStop, target, j, o.Dir, func(line string) { p.Line(line) }); err != nil {
			return trial.Result{}, err
		}
		return trial.Open(o.Dir)
	}
	return f.runAll(c, console, runs, key)
}

// checkInCluster refuses what a coordinator in a cluster cannot do.
func (f *kubernetesCertifyFlags) checkInCluster() error {
	if !f.fleet.inCluster() {
		return usage("for example: --engine k6-operator", "--engine is %q: in a cluster it must be kubernetes or k6-operator", f.fleet.engine)
	}
	name, key, _ := strings.Cut(f.databaseSecret, "/")
	if f.databaseSecret != "" && len(validation.IsDNS1123Subdomain(name))+len(validation.IsConfigMapKey(key)) > 0 {
		return usage("for example: --db-secret shop-database/dsn", "--db-secret is %q: it must be NAME/KEY", f.databaseSecret)
	}
	return nil
}

// checkRun fails before a run that could not be brought back, or that has no target.
func (f *kubernetesCertifyFlags) checkRun(o run.Options) error {
	if err := checkTarget(o); err != nil || f.fleet.kubernetes.dryRun {
		return err
	}
	return record.CheckEmpty(o.Dir)
}

// job describes the coordinator's Job of a run.
func (f *kubernetesCertifyFlags) job(c *cobra.Command, target *cluster.Cluster, o run.Options) (j incluster.Job, err error) {
	s, err := f.fleet.kubernetes.settings(o.Profile.Name, f.fleet.engine)
	if err != nil {
		return j, err
	}
	j = incluster.Job{
		Name: s.Name, Namespace: target.Namespace, Image: s.Image, ServiceAccount: cluster.CoordinatorAccount, Patch: s.Patch,
		Secrets: map[string]string{}, FromSecrets: map[string]incluster.Key{},
	}
	for _, q := range []struct {
		flag, text string
		to         *resource.Quantity
	}{{"--coordinator-cpu", f.cpu, &j.Resources.CPU}, {"--coordinator-memory", f.memory, &j.Resources.Memory}} {
		if *q.to, err = resource.ParseQuantity(q.text); err != nil || q.to.Sign() <= 0 {
			return j, usage("for example: --coordinator-cpu 1 --coordinator-memory 2Gi", "%s is %q: it must be a quantity above 0, as Kubernetes writes them", q.flag, q.text)
		}
	}
	for _, name := range []string{"ASSAY_DB", "ASSAY_INFLUX_URL", "ASSAY_INFLUX_TOKEN"} {
		if value := os.Getenv(name); value != "" {
			j.Secrets[name] = value
		}
	}
	if name, key, ok := strings.Cut(f.databaseSecret, "/"); ok {
		delete(j.Secrets, "ASSAY_DB")
		j.FromSecrets["ASSAY_DB"] = incluster.Key{Secret: name, Key: key}
	}
	p, err := plan.New(o.Profile, o.Workers, o.Seed)
	if err != nil {
		return j, err
	}
	j.StartTimeout, j.Longest = f.fleet.join.Timeout, run.Longest(o, p)
	dsn := "" // of the database that the script finds in the cluster
	if o.Profile.NeedsDatabase() {
		dsn = cmp.Or(o.DSN, fleet.PlaceholderDSN)
	}
	archive, err := fleet.Archive(c.Context(), o.Executable, o.File.ScriptPath(o.Profile), fleet.Environment(o.Target, o.ID, o.Seed, dsn))
	if err != nil {
		return j, err
	}
	scripts, err := fleet.Files(archive, o.File.ScriptPath(o.Profile))
	if err != nil {
		return j, err
	}
	folder := ""
	if j.Project, folder, err = incluster.Pack(append([]string{o.File.Path}, scripts...)...); err != nil {
		return j, err
	}
	if path := f.fleet.kubernetes.patch; path != "" {
		if j.PatchText, err = os.ReadFile(path); err != nil {
			return j, fmt.Errorf("read the patch of manifests: %w", err)
		}
	}
	j.Command = f.command(o, folder)
	return j, nil
}

// command is the coordinator's command line, run in the folder of the thresholds file.
func (f *kubernetesCertifyFlags) command(o run.Options, folder string) []string {
	command := []string{
		"--folder", folder, "--", "certify", o.Profile.Name, "--thresholds", filepath.Base(o.File.Path), "--engine", f.fleet.engine,
		"--workers", strconv.Itoa(o.Workers), "--target", o.Target, "--seed", strconv.FormatUint(o.Seed, 10), "--scope", o.Scope,
		"--weights", f.fleet.weights, "--join-timeout", f.fleet.join.Timeout.String(), "--attempt", strconv.Itoa(o.Attempt),
		"--kubernetes-name", f.fleet.kubernetes.nameOf(o.Profile.Name), "--kubernetes-cpu", f.fleet.kubernetes.cpu, "--kubernetes-memory", f.fleet.kubernetes.memory,
	}
	for _, host := range f.allow {
		command = append(command, "--allow-target", host)
	}
	for _, dsn := range f.readers {
		command = append(command, "--db-reader", dsn)
	}
	if f.db != "" {
		command = append(command, "--db", f.db)
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

// show prints the manifests of a run, if it is a dry run, and checks the patch of them.
func (f *kubernetesCertifyFlags) show(c *cobra.Command, j incluster.Job, o run.Options) error {
	unpatched := j
	unpatched.Patch = nil
	coordinator, err := unpatched.Manifests()
	if err != nil {
		return err
	}
	workers, err := f.fleet.kubernetes.manifests(o, f.fleet.engine, "https://coordinator:7077")
	if err != nil {
		return err
	}
	all := slices.Concat(coordinator, workers)
	if err := j.Patch.Check(all); err != nil || !f.fleet.kubernetes.dryRun {
		return err
	}
	if all, err = j.Patch.Apply(all); err != nil {
		return err
	}
	return cluster.Print(c.OutOrStdout(), all)
}

func newKubernetesRBAC() *cobra.Command {
	var f kubernetesFlags
	subject, target := "", ""
	c := &cobra.Command{
		Use:   "rbac",
		Short: "Print the Roles that runs in a cluster need, in one namespace",
		Long: `Rbac prints the manifests that an administrator applies once: the service account of
coordinators with its Role, and the Role of who starts runs, bound to --subject. They
grant nothing outside the namespace, but --target-namespace: there coordinators may find
the pods behind a Service, to read the metrics of each.`,
		Example: `  assay kubernetes rbac --kubernetes-namespace load --subject user:ana@example.com | kubectl apply -f -
  assay kubernetes rbac --kubernetes-namespace load --target-namespace prod --subject serviceaccount:ci | kubectl apply -f -`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			namespace := f.Namespace
			if namespace == "" {
				return usage("for example: --kubernetes-namespace load", "rbac needs the namespace of the runs: --kubernetes-namespace")
			}
			for option, name := range map[string]string{"--kubernetes-namespace": namespace, "--target-namespace": target} {
				if err := checkNamespace(option, name); err != nil {
					return err
				}
			}
			all, err := cluster.RBAC(namespace, target, subject)
			if err != nil {
				return hint.With(err, "for example: --subject user:ana@example.com, group:sre, serviceaccount:ci")
			}
			return cluster.Print(c.OutOrStdout(), all)
		},
	}
	c.Flags().StringVar(&f.Namespace, "kubernetes-namespace", "", "namespace of the runs")
	c.Flags().StringVar(&target, "target-namespace", "", "namespace of the service under test (default: that of the runs)")
	c.Flags().StringVar(&subject, "subject", "serviceaccount:assay", "who starts runs: user:NAME, group:NAME, or serviceaccount:NAME of the namespace")
	return c
}

// The commands of the coordinator's pod, in its manifest and run by `assay kubernetes certify`.

// inCoordinator refuses such a command elsewhere, where its files are those of others.
func inCoordinator(c *cobra.Command) error {
	if coordinatorPod() != nil {
		return nil
	}
	return usage("see: assay kubernetes certify --help", "kubernetes %s is only for the pod of a coordinator", c.Name())
}

func newCoordinate() *cobra.Command {
	folder := ""
	c := &cobra.Command{
		Use: "coordinate -- COMMAND", Hidden: true, Short: "Run a command as the coordinator in its pod, and hold its record",
		Args: arguments(1, 1000, "no command was named", "for example: assay kubernetes coordinate -- certify payment"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := inCoordinator(c); err != nil {
				return err
			}
			if err := incluster.Prepare(folder); err != nil {
				return err
			}
			if err := os.Setenv(envListen, incluster.Listen()); err != nil {
				return fmt.Errorf("prepare the coordinator's pod: %w", err)
			}
			code := execute(c.Context(), append(args, "--out", incluster.RunFolder), io.Discard, c.ErrOrStderr())
			incluster.Hold(c.Context(), c.ErrOrStderr())
			return exitWith(code)
		},
	}
	c.Flags().StringVar(&folder, "folder", ".", "folder of the project to run in")
	return c
}

func newExport() *cobra.Command {
	return &cobra.Command{
		Use: "export", Hidden: true, Short: "Write the run folder of the coordinator's pod to stdout", Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := inCoordinator(c); err != nil {
				return err
			}
			return incluster.Export(c.OutOrStdout())
		},
	}
}

func newInterrupt() *cobra.Command {
	return &cobra.Command{
		Use: "interrupt", Hidden: true, Short: "Interrupt the run of the coordinator's pod", Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := inCoordinator(c); err != nil {
				return err
			}
			return incluster.Interrupt()
		},
	}
}
