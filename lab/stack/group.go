package stack

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/servers/mysqld/replication"
	"assay.dev/assay/internal/servers/process"
)

// quorumPatience bounds the wait for a group that runs, and is about to notice that it
// has lost a node.
const quorumPatience = 30 * time.Second

// ensureGroup ensures that all nodes of a group run and are its members. If none runs,
// the node whose data contain those of the others begins the group.
func (c *nodes) ensureGroup(ctx context.Context) error {
	servers := c.cluster.servers()
	running := slices.DeleteFunc(slices.Clone(servers), func(n *Node) bool { return !c.alive(n) })
	var first *Node
	var err error
	if len(running) > 0 {
		first, err = c.awaitQuorum(ctx, running)
	} else if first, err = c.begin(ctx, servers); err == nil {
		err = c.bring(ctx, first, true)
	}
	if err != nil {
		return err
	}
	for i := range c.cluster.Nodes {
		if n := &c.cluster.Nodes[i]; n != first {
			if err := c.bring(ctx, n, false); err != nil {
				return err
			}
		}
	}
	return nil
}

// errNoQuorum: the nodes that run cannot let others join.
func errNoQuorum(err error) error {
	return hint.With(fmt.Errorf("no running node belongs to a group with a majority: %w", err), "begin the group again: assay-lab stack down, assay-lab stack up")
}

// awaitQuorum finds a node that belongs to the group, if there still is one.
func (c *nodes) awaitQuorum(ctx context.Context, running []*Node) (found *Node, err error) {
	err = process.Await(ctx, quorumPatience, nil, func(ctx context.Context) error {
		var all error
		for _, n := range running {
			s, err := c.state(ctx, n)
			if err == nil && s.Quorum {
				found = n
				return nil
			}
			if err == nil {
				err = errors.New(s.Text)
			}
			all = fmt.Errorf("node %s: %w", n.Name, err)
		}
		return all
	})
	if err != nil {
		return nil, errNoQuorum(err)
	}
	return found, nil
}

// begin chooses the node that begins a group. Servers of Group Replication are started
// for it, those of Galera are not.
func (c *nodes) begin(ctx context.Context, servers []*Node) (_ *Node, err error) {
	best := ""
	if c.cluster.Kind == replication.Galera {
		positions := map[string]replication.Position{}
		for _, n := range servers {
			o, err := c.options(n)
			if err != nil {
				return nil, err
			}
			if positions[n.Name], err = replication.GaleraPosition(ctx, o); err != nil {
				return nil, fmt.Errorf("node %s: %w", n.Name, err)
			}
		}
		if best, err = replication.Furthest(positions); err == nil {
			err = c.level(servers, best, positions)
		}
	} else {
		members := map[string]*sql.DB{}
		for _, n := range servers {
			if err := c.launch(ctx, n, false); err != nil {
				return nil, err
			}
			db, _, err := c.open(n)
			if err != nil {
				return nil, err
			}
			defer func() { _ = db.Close() }()
			members[n.Name] = db
		}
		best, err = replication.FurthestMember(ctx, members)
	}
	if err != nil {
		return nil, hint.With(fmt.Errorf("begin group: %w", err),
			fmt.Sprintf("keep the data of one node: rm -r the folder of the others below %s, and assay-lab stack up copies it", c.folder.node(c.cluster.Topology, "")))
	}
	return c.cluster.node(best)
}

// level copies the data of the node that begins the group to those that have missed
// writes: after a restart it no longer has them in its cache.
func (c *nodes) level(servers []*Node, best string, positions map[string]replication.Position) error {
	from, err := c.cluster.node(best)
	if err != nil {
		return err
	}
	for _, n := range servers {
		if positions[n.Name] == positions[best] {
			continue
		}
		c.log.Info("copying the data of a node to one that has missed writes", "from", best, "to", n.Name)
		if err := c.copy(from, n); err != nil {
			return err
		}
	}
	return nil
}
