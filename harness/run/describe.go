package run

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"

	"assay/harness/load/plan"
	"assay/harness/observe/collect/host"
	"assay/harness/observe/record"
)

func vusText(p plan.Plan) string {
	if len(p.Workers) == 1 {
		return fmt.Sprintf("%d VUs", p.Workers[0].VUs)
	}
	return fmt.Sprintf("%d workers of %d VUs", len(p.Workers), p.Workers[0].VUs)
}

var localImport = regexp.MustCompile(`(?m)^\s*(?:import\b[^'";]*|export\b[^'";]*\bfrom\s*)['"](\.{1,2}/[^'"]+)['"]`)

// scriptDigests names the scenario and the local modules it imports, with
// their content's digests. Paths are relative to the scenario's folder.
func scriptDigests(script string) ([]record.Digest, error) {
	root := filepath.Dir(script)
	var digests []record.Digest
	seen := map[string]bool{}
	queue := []string{script}
	for len(queue) > 0 {
		path := queue[0]
		queue = queue[1:]
		if seen[path] {
			continue
		}
		seen[path] = true
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) && path != script {
			continue // an import in a comment: the scenario has been initialised without it
		}
		if err != nil {
			return nil, fmt.Errorf("read scenario: %w", err)
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return nil, fmt.Errorf("read scenario: %w", err)
		}
		sum := sha256.Sum256(data)
		digests = append(digests, record.Digest{Path: filepath.ToSlash(rel), SHA256: "sha256:" + hex.EncodeToString(sum[:])})
		for _, m := range localImport.FindAllSubmatch(data, -1) {
			queue = append(queue, filepath.Join(filepath.Dir(path), filepath.FromSlash(string(m[1]))))
		}
	}
	slices.SortFunc(digests, func(a, b record.Digest) int { return strings.Compare(a.Path, b.Path) })
	return digests, nil
}

// coLocated lists what shares the generator's host: what is reached by one of
// its own addresses.
func coLocated(ctx context.Context, target, dsn string) []string {
	shared := []string{}
	if u, err := url.Parse(target); err == nil && host.Own(ctx, u.Hostname()) {
		shared = append(shared, "service")
	}
	if c, err := mysql.ParseDSN(dsn); dsn != "" && err == nil {
		name, _, splitErr := net.SplitHostPort(c.Addr)
		if c.Net == "unix" || splitErr == nil && host.Own(ctx, name) {
			shared = append(shared, "database")
		}
	}
	return shared
}
