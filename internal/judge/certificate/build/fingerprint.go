// SPDX-License-Identifier: Apache-2.0

package build

import (
	"bytes"
	"encoding/json"
	"slices"

	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/spec"
)

// identity is the system that a certificate holds for: once any of it changes, the
// certificate no longer does. It leaves out hosts and addresses, which change when the
// same system is moved, and the instruments that a run switches on.
type identity struct {
	Database *databaseIdentity `json:"database"`
	Service  *record.Service   `json:"service"`
}

type databaseIdentity struct {
	Flavour   string            `json:"flavour"`
	Version   string            `json:"version"`
	Variables map[string]string `json:"variables"`
}

// Fingerprint is "sha256:" and the digest of the environment's identity: compact JSON,
// fields in the order above, maps sorted by key. It is nil where nothing is known.
func Fingerprint(e record.Environment) *string {
	i := identity{Service: e.Service}
	if d := e.Database; d != nil {
		i.Database = &databaseIdentity{d.Flavour, d.Version, d.Variables}
	}
	if i == (identity{}) {
		return nil
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(i); err != nil {
		panic(err) // strings and maps of strings always encode
	}
	return new(spec.DigestOf(bytes.TrimSuffix(text.Bytes(), []byte("\n"))))
}

// maxUnread is how long a service's builds may be unread, s. An instance that does not answer
// for 10 s counts as one of another build, so that only a collector which reads nothing any
// more leaves a longer gap.
const maxUnread = 15

// unchanged reports whether all instances of the service that were read from the begin of the
// load to the end of what is judged had the builds of the environment; nil: they were not read
// throughout.
func unchanged(r record.Run, v verdict.Verdict) *bool {
	span := record.Span{From: r.Facts.T0.Unix(), To: v.Window.End.Unix()}
	others, read := r.Timeline.Gauge(metric.ServiceOthers, nil, metric.SourceService, span) // no other sender knows
	unread := 0
	for _, r := range read {
		if unread++; r {
			unread = 0
		}
		if unread > maxUnread {
			return nil
		}
	}
	if !slices.Contains(read, true) {
		return nil
	}
	return new(slices.Max(others) == 0)
}
