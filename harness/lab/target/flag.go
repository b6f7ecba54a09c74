package target

import (
	"fmt"
	"slices"
	"strings"
)

// String, Set and Type make Commits a flag value.
func (c *Commits) String() string { return string(*c) }

// Type names the value in the help.
func (c *Commits) Type() string { return "mode" }

// Set accepts a known mode only.
func (c *Commits) Set(s string) error {
	return setMode(c, s, CommitStatement, CommitTransaction, CommitBatched)
}

// String, Set and Type make Ingest a flag value.
func (i *Ingest) String() string { return string(*i) }

// Type names the value in the help.
func (i *Ingest) Type() string { return "mode" }

// Set accepts a known mode only.
func (i *Ingest) Set(s string) error {
	return setMode(i, s, IngestDirect, IngestBulk, IngestChannel)
}

func setMode[M ~string](to *M, s string, known ...M) error {
	if !slices.Contains(known, M(s)) {
		names := make([]string, len(known))
		for i, k := range known {
			names[i] = string(k)
		}
		return fmt.Errorf("want one of %s", strings.Join(names, ", "))
	}
	*to = M(s)
	return nil
}
