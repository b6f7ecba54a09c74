package run

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"assay.dev/assay/internal/doctor/probe"
	"assay.dev/assay/internal/load/fleet"
	"assay.dev/assay/internal/observe/collect/databases"
	"assay.dev/assay/internal/observe/collect/host"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/plan"
)

func vusText(p plan.Plan) string {
	if len(p.Workers) == 1 {
		return fmt.Sprintf("%d VUs", p.Workers[0].VUs)
	}
	return fmt.Sprintf("%d workers of %d VUs", len(p.Workers), p.Workers[0].VUs)
}

// scriptDigests are those of the profile's scripts. Paths are relative to the folder of its
// scenario, or where flows have names to that of thresholds.json.
func (o Options) scriptDigests() ([]record.Digest, error) {
	var scripts []string
	for _, of := range o.Profile.Flows {
		scripts = append(scripts, o.File.ScriptPath(of))
	}
	root := filepath.Dir(scripts[0])
	if o.Profile.Named() {
		root = filepath.Dir(o.File.Path)
	}
	return digestsOf(root, scripts...)
}

// digestsOf lists scripts and the local modules that they import, with the digests of their
// content. Paths are relative to root.
func digestsOf(root string, scripts ...string) ([]record.Digest, error) {
	var digests []record.Digest
	err := fleet.EachSource(scripts, func(path string, source []byte) error {
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return fmt.Errorf("read scenario: %w", err)
		}
		sum := sha256.Sum256(source)
		digests = append(digests, record.Digest{Path: filepath.ToSlash(rel), SHA256: "sha256:" + hex.EncodeToString(sum[:])})
		return nil
	})
	slices.SortFunc(digests, func(a, b record.Digest) int { return strings.Compare(a.Path, b.Path) })
	return digests, err
}

// database names the database in the record: its DSN without the password, or the
// Performance Insights resource if there is no DSN.
func (o Options) database() string {
	return cmp.Or(databases.Public(o.DSN), o.insights())
}

func (o Options) insights() string {
	if o.Insights == nil {
		return ""
	}
	return o.Insights.String()
}

func (o Options) readers() (all []string) {
	for _, dsn := range o.Readers {
		all = append(all, databases.Public(dsn))
	}
	return all
}

// addresses returns the host:port of the service and of the database; an empty one
// for a database behind a Unix socket of this machine.
func addresses(target, dsn string) map[string]string {
	all := map[string]string{}
	if u, err := url.Parse(target); err == nil {
		all[metric.SourceService] = net.JoinHostPort(u.Hostname(), probe.Port(u))
	}
	if named, err := databases.Parse(dsn); err == nil {
		all[metric.SourceDatabase] = named.Address
	}
	return all
}

// coLocated lists the parts of the system under test on the generator's host: those
// reached by an address of this host.
func coLocated(ctx context.Context, target, dsn string) []string {
	shared := []string{}
	all := addresses(target, dsn)
	for _, name := range []string{metric.SourceService, metric.SourceDatabase} {
		address, known := all[name]
		node, _, err := net.SplitHostPort(address)
		if err == nil && host.IsLocal(ctx, node) || known && address == "" {
			shared = append(shared, name)
		}
	}
	return shared
}
