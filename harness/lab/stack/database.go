package stack

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"assay/harness/hint"
	"assay/harness/servers/haproxy"
	"assay/harness/servers/mysqld"
	"assay/harness/servers/mysqld/replication"
	"assay/harness/servers/process"
)

// quorumPatience bounds the wait for a group that runs, and is about to notice that it
// has lost a node.
const quorumPatience = 30 * time.Second

// ensureDatabase ensures that all database nodes run, replicate and have their users.
func (u *startup) ensureDatabase(ctx context.Context) error {
	c, err := u.nodes()
	if err != nil {
		return err
	}
	// A node that was cut off, by a command that has ended since, would stay so.
	if err := u.uncut(""); err != nil {
		return err
	}
	if err := c.seed(ctx, u); err != nil {
		return err
	}
	switch c.cluster.Kind {
	case replication.Galera, replication.Group:
		err = c.ensureGroup(ctx)
	default:
		err = c.ensureEach(ctx)
	}
	if err != nil {
		return err
	}
	return u.ensureUsers(ctx, c)
}

// nodes is the cluster of the options: that which runs, or a new one.
func (u *startup) nodes() (*nodes, error) {
	b := u.options.Binary
	if b.Path == "" {
		var err error
		if b, err = mysqld.ChooseFor(u.folder.node(u.options.Topology, NodeA)); err != nil {
			return nil, err
		}
	}
	u.before = u.running()
	if u.before {
		b = u.state.Database.Binary
	}
	c := &nodes{
		folder: u.folder, cluster: u.state.Cluster, binary: b, args: u.options.DBArgs, users: u.state.Users, log: u.log,
		started: func(n *Node, stop func() error) error {
			u.parts.Database = !u.before
			u.stops = append(u.stops, stop)
			return u.save(u.state)
		},
	}
	if u.before {
		return c, nil
	}
	// Left by nodes that have crashed.
	for _, d := range u.daemons() {
		if err := d.stop(); err != nil {
			return nil, err
		}
	}
	var err error
	if c.cluster, err = newCluster(u.options.Topology, b.Flavour, u.options.Proxy, u.options.DBPort, process.FreePort); err != nil {
		return nil, err
	}
	if err := c.cluster.checkPorts(); err != nil {
		return nil, err
	}
	if err := c.cluster.checkPrograms(); err != nil {
		return nil, err
	}
	if !u.state.Target.Process.Alive() {
		// Before the database is started, which takes seconds.
		if err := checkTargetPort(u.options.TargetPort); err != nil {
			return nil, err
		}
	}
	u.state.Cluster = c.cluster
	u.state.Database = Database{Port: u.options.DBPort, Binary: b, Args: u.options.DBArgs}
	u.log.Info("starting database", "server", string(b.Flavour), "version", b.Version, "port", u.options.DBPort, "topology", string(c.cluster.Topology))
	return c, u.save(u.state)
}

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
		return hint.With(fmt.Errorf("node %s has no data, and node %s, whose data it would get, is running", empty[0].Name, from.Name), "assay stack down, assay stack up")
	}
	u.log.Info("making the data of the nodes")
	stop := len(u.stops)
	if err := c.launch(ctx, from, true); err != nil {
		return err
	}
	if fresh {
		if err := u.ensureUsersOn(ctx, c, from); err != nil {
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

// ensureEach ensures that a server runs, and the reader that follows it.
func (c *nodes) ensureEach(ctx context.Context) error {
	for i := range c.cluster.Nodes {
		n := &c.cluster.Nodes[i]
		if server, err := mysqld.Attach(c.dir(n)); err == nil {
			ping, cancel := context.WithTimeout(ctx, answerPatience)
			err := server.Ping(ping)
			cancel()
			if err != nil {
				return fmt.Errorf("the database server (pid %d) does not answer: %w: run `assay stack down` first", server.Pid(), err)
			}
		}
		if err := c.bring(ctx, n, true); err != nil {
			return err
		}
	}
	return nil
}

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
	return hint.With(fmt.Errorf("no running node belongs to a group with a majority: %w", err), "begin the group again: assay stack down, assay stack up")
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
			fmt.Sprintf("keep the data of one node: rm -r the folder of the others below %s, and assay stack up copies it", c.folder.node(c.cluster.Topology, "")))
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

// ensureUsers ensures that the users exist, on a node that writes; the others replicate
// them.
func (u *startup) ensureUsers(ctx context.Context, c *nodes) error {
	a, err := c.cluster.node(NodeA)
	if err != nil {
		return err
	}
	return u.ensureUsersOn(ctx, c, a)
}

func (u *startup) ensureUsersOn(ctx context.Context, c *nodes, n *Node) error {
	server, err := mysqld.Attach(c.dir(n))
	if err != nil {
		return err
	}
	db := Database{Process: server.Identity(), Port: server.Port(), Binary: server.Binary(), Args: u.options.DBArgs}
	db.Ready = db.Process == u.state.Database.Process && u.state.Database.Ready
	u.state.Database = db
	if err := u.save(u.state); err != nil {
		return err
	}
	if db.Ready {
		return nil
	}
	if err := grant(ctx, server.DSN(), db.Binary.Flavour, c.cluster.Kind, u.state.Users); err != nil {
		return err
	}
	u.state.Database.Ready = true
	return u.save(u.state)
}

// checkPrograms finds the programs that the cluster needs besides the server.
func (c *Cluster) checkPrograms() error {
	if c.Kind == replication.Galera {
		if _, err := replication.Provider(); err != nil {
			return err
		}
		if _, err := replication.Garbd(); err != nil {
			return err
		}
	}
	if c.Proxy != nil {
		if _, err := haproxy.Find(); err != nil {
			return err
		}
	}
	return nil
}

// find completes a state that has no nodes, if there are: it was lost, or never written.
func (f folder) find(s *State) error {
	if s.Cluster != nil {
		return nil
	}
	for _, dir := range f.nodes() {
		server, err := mysqld.Attach(dir)
		switch {
		case err != nil: // none runs there
		case dir != f.database():
			return hint.With(fmt.Errorf("a database node runs in %s, and the state of the stack is lost", dir), "assay stack down, assay stack up")
		default:
			s.Cluster = single(server.Port())
			s.Database = Database{Process: server.Identity(), Port: server.Port(), Binary: server.Binary()}
		}
	}
	return nil
}

// running reports whether any database node of the stack runs.
func (u *startup) running() bool { return u.folder.running(u.state) }

func (f folder) running(s *State) bool {
	if s.Cluster == nil {
		return false
	}
	c := &nodes{folder: f, cluster: s.Cluster}
	return slices.ContainsFunc(s.Cluster.Nodes, func(n Node) bool { return !n.Arbitrator && c.alive(&n) })
}
