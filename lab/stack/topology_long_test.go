//go:build long

package stack_test

import (
	"net"
	"testing"

	"assay.dev/assay/internal/servers/process"
	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/polltest"
	"assay.dev/assay/lab/stack"
)

// TestLongTopologies lets a node fail in all ways, on each flavour and topology.
func TestLongTopologies(t *testing.T) {
	budget.CPUs(t, 0.5)
	for _, flavour := range []string{"mariadb", "mysql"} {
		for _, topology := range []stack.Topology{stack.Replica, stack.MultiPrimary} {
			t.Run(flavour+" "+string(topology), func(t *testing.T) {
				l := startLab(t, flavour, topology, true)
				for _, how := range []stack.Action{stack.Kill, stack.Shutdown, stack.Cut} {
					l.fails("b", how, "a")
				}
				if topology == stack.Replica {
					// Nothing else can be written: the proxy waits for a, too.
					l.do("a", stack.Kill)
					l.do("a", stack.Start)
					l.write("proxy")
					l.await("b")
					return
				}
				for _, how := range []stack.Action{stack.Kill, stack.Shutdown, stack.Cut} {
					l.fails("a", how, "proxy")
				}
				l.do(stack.Arbitrator, stack.Kill)
				l.write("proxy-both")
				l.do(stack.Arbitrator, stack.Start)
				// All down and up again, and one that was behind.
				l.do("b", stack.Kill)
				l.write("a")
				if err := stack.Down(t.Context(), l.dir, stack.All); err != nil {
					t.Fatal(err)
				}
				mustUp(t, l.options)
				l.await("b")
				l.await("a")
			})
		}
	}
}

// TestLongTwoWriters: nodes come back although other processes have taken their ports for
// the other nodes, and the proxy leads to the first one again.
func TestLongTwoWriters(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.5)
	l := startLab(t, "mariadb", stack.MultiPrimary, true)
	l.do("a", stack.Kill)
	l.write("proxy")
	l.occupy("a")
	l.do("a", stack.Start)
	l.do("arbitrator", stack.Kill)
	l.occupy("arbitrator")
	l.do("arbitrator", stack.Start)
	l.await("a")
	l.fails("b", stack.Cut, "a")
	polltest.Until(t, "the proxy leads to a again", func() bool { return l.serves(1) })
}

// occupy listens on a node's port for the other nodes.
func (l *lab) occupy(node string) {
	l.Helper()
	for _, n := range l.state.Cluster.Nodes {
		if n.Name == node {
			listener, err := net.Listen("tcp", process.Address(n.Group))
			if err != nil {
				l.Fatal(err)
			}
			l.Cleanup(func() { _ = listener.Close() })
		}
	}
}
