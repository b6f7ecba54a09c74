package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"assay.dev/assay/internal/cluster"
	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/load/fleet"
	"assay.dev/assay/internal/observe/collect/stubs"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/run"
	"assay.dev/assay/internal/trial/incluster"
)

// job describes the coordinator's Job of a run.
func (f *kubernetesCertifyFlags) job(c *cobra.Command, target *cluster.Cluster, o run.Options) (j incluster.Job, err error) {
	s, err := f.fleet.kubernetes.settings(c.Context(), o.Profile.Name, f.fleet.chosen())
	if err != nil {
		return j, err
	}
	j = incluster.Job{
		Name: s.Name, Namespace: target.Namespace, Image: s.Image, ServiceAccount: cluster.CoordinatorAccount, Patch: s.Patch,
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
	// Of the database that the script finds in the cluster.
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
		"--weights", f.fleet.weights, "--join-timeout", f.fleet.join.Timeout.String(), "--run-id", o.ID, "--attempt", strconv.Itoa(o.Attempt),
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
