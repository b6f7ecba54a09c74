package system

import (
	"context"

	"assay.dev/assay/lab/stack"
)

// stackNodes are the database nodes of the local stack, into which a run injects faults.
type stackNodes struct {
	dir   string
	names []string
}

// nodesOf are the nodes of a stack that is up.
func nodesOf(dir string, s *stack.State) stackNodes {
	n := stackNodes{dir: dir}
	if s.Cluster != nil {
		for _, node := range s.Cluster.Nodes {
			n.names = append(n.names, node.Name)
		}
	}
	return n
}

// Names lists the nodes.
func (n stackNodes) Names() []string { return n.names }

// Ready returns why a node is not in use; nil: it is.
func (n stackNodes) Ready(node string) error { return stack.NodeReady(n.dir, node) }

// Do does something to a node, also while the run has reserved the stack.
func (n stackNodes) Do(ctx context.Context, node, action string) error {
	return stack.NodeDo(ctx, n.dir, node, stack.Action(action))
}
