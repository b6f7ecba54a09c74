package doctor

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"

	"assay/harness/doctor/probe"
	"assay/harness/hint"
	"assay/harness/observe/collect/lag"
	"assay/harness/observe/metric"
	"assay/harness/spec"
)

// readers says whether the lag of replicas and of readers of the binlog can be read.
type readers struct {
	replicas error
	binlog   map[string]error // by profile
}

// MetricsOf is where a service exposes its metrics.
func MetricsOf(target string) string { return strings.TrimSuffix(target, "/") + "/metrics" }

// lookAtReaders opens each once, in parallel.
func (s Subject) lookAtReaders(ctx context.Context) (found readers) {
	found.binlog = map[string]error{}
	var looking sync.WaitGroup
	var mu sync.Mutex
	if len(s.Readers) > 0 {
		looking.Go(func() { found.replicas = probe.LookAtLag(ctx, lag.Options{Database: s.DSN, Readers: s.Readers}) })
	}
	for _, l := range s.Loads {
		if !s.canLookAt(l.Profile.Reader) {
			continue
		}
		hosts := slices.Concat(s.File.Targets, s.AllowHosts)
		if u, err := url.Parse(s.Target); err == nil {
			hosts = append(hosts, u.Hostname())
		}
		looking.Go(func() {
			err := probe.LookAtLag(ctx, lag.Options{Database: s.DSN, Binlog: l.Profile.Reader, Service: MetricsOf(s.Target), Hosts: hosts})
			mu.Lock()
			defer mu.Unlock()
			found.binlog[l.Profile.Name] = err
		})
	}
	looking.Wait()
	return found
}

// canLookAt tells whether it is known yet where a reader's lag is read: the local
// stack may not be up.
func (s Subject) canLookAt(b *spec.BinlogReader) bool {
	return b != nil && (b.URL != "" || s.Target != "" || b.SQL != "" && s.DSN != "")
}

// readersFindings judge whether lags can be read: where an SLO judges a lag, it must
// be.
func (s Subject) readersFindings(found readers) (all Findings) {
	judged := ""
	for _, l := range s.Loads {
		if judges(l.Profile, metric.ReplicaLag) {
			judged = l.Profile.Name
			break
		}
	}
	switch {
	case len(s.Readers) > 0:
		all = append(all, readersFinding(judged != "", fmt.Sprintf("%d replicas", len(s.Readers)), found.replicas))
	case judged != "":
		all = append(all, bad(CheckReaders, "no replica is named", "a DSN of each", fmt.Sprintf("profile %s judges %s, and no replica is named", judged, metric.ReplicaLag),
			"name each with --db-reader, like --db-reader 'user@tcp(127.0.0.1:3307)/'"))
	}
	for _, l := range s.Loads {
		if s.canLookAt(l.Profile.Reader) {
			f := readersFinding(judges(l.Profile, metric.BinlogReaderLag), "the binlog's reader", found.binlog[l.Profile.Name])
			f.Profile = l.Profile.Name
			all = append(all, f)
		}
	}
	return all
}

func readersFinding(judged bool, who string, err error) Finding {
	const needed = "their lag can be read"
	if err == nil {
		return fine(CheckReaders, who, needed)
	}
	why, remedy := err.Error(), cmp.Or(hint.Of(err), "see that it is up, and what its DSN, query or metric says")
	if judged {
		return bad(CheckReaders, reason(err), needed, why, remedy)
	}
	return doubtful(CheckReaders, reason(err), needed, why, remedy)
}

// judges tells whether a profile has an SLO on this metric.
func judges(p spec.Profile, name string) bool {
	return slices.ContainsFunc(p.SLOs, func(s spec.SLO) bool { return s.Metric == name })
}
