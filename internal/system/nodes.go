package system

import (
	"context"

	"assay.dev/assay/internal/localstack"
)

// stackNodes are the database nodes of the local stack, into which a run injects faults.
type stackNodes struct {
	dir   string
	names []string
}

// nodesOf are the nodes of a stack that is up.
func nodesOf(dir string, s *localstack.State) stackNodes { return stackNodes{dir, s.Nodes} }

// Names lists the nodes.
func (n stackNodes) Names() []string { return n.names }

// Ready returns why a node is not in use; nil: it is.
func (n stackNodes) Ready(ctx context.Context, node string) error {
	return localstack.NodeReady(ctx, n.dir, node)
}

// Do does something to a node, also while the run has reserved the stack.
func (n stackNodes) Do(ctx context.Context, node, action string) error {
	return localstack.NodeDo(ctx, n.dir, node, action)
}
