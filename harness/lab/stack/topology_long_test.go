//go:build long

package stack_test

import (
	"testing"

	"assay/harness/lab/stack"
)

// TestLongTopologies lets a node fail in all ways, on each flavour and topology.
func TestLongTopologies(t *testing.T) {
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
