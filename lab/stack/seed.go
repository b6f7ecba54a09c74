package stack

import (
	"context"
	"fmt"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/servers/mysqld"
)

// seed makes the data of the nodes that have none: those of a, with its users, are copied.
func (c *nodes) seed(ctx context.Context, u *startup) error {
	var from *Node
	var empty []*Node
	for _, n := range c.cluster.servers() {
		has, err := mysqld.Exists(c.dir(n))
		switch {
		case err != nil:
			return err
		case !has:
			empty = append(empty, n)
		case from == nil:
			from = n
		}
	}
	if len(empty) == 0 || len(c.cluster.Nodes) == 1 {
		return nil
	}
	fresh := from == nil
	if fresh {
		from, empty = empty[0], empty[1:]
	}
	if c.alive(from) {
		return hint.With(fmt.Errorf("node %s has no data, and node %s, whose data it would get, is running", empty[0].Name, from.Name), "assay-lab stack down, assay-lab stack up")
	}
	u.log.Info("making the data of the nodes")
	stop := len(u.stops)
	if err := c.launch(ctx, from, true); err != nil {
		return err
	}
	if fresh {
		if err := u.ensureUsers(ctx, c, from); err != nil {
			return err
		}
	}
	// In order, so that the copy is complete and, of Galera, has its position.
	if err := c.end(from, false); err != nil {
		return err
	}
	u.stops, u.parts.Database = u.stops[:stop], false
	for _, n := range empty {
		if err := c.copy(from, n); err != nil {
			return err
		}
	}
	return nil
}

// copy makes the data of a node those of another; both are stopped. The binlog is copied
// too: it says how far the data are.
func (c *nodes) copy(from, to *Node) error {
	return mysqld.Copy(c.dir(from), c.dir(to), "galera.cache", "gvwstate.dat", "gcache.page.*") // Galera's own cache
}
