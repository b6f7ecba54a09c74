//go:build long

package clustertest

import (
	"testing"
	"time"
)

func TestClusterStarts(t *testing.T) {
	start := time.Now()
	c := Start(t)
	t.Logf("ready after %s on %s", time.Since(start), c.NodeAddress())
}
