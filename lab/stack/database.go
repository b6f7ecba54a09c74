package stack

import (
	"context"
	"fmt"
	"slices"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/servers/haproxy"
	"assay.dev/assay/internal/servers/mysqld"
	"assay.dev/assay/internal/servers/mysqld/replication"
	"assay.dev/assay/internal/servers/process"
)

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
	a, err := c.cluster.node(NodeA)
	if err != nil {
		return err
	}
	return u.ensureUsers(ctx, c, a)
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

// ensureEach ensures that a server runs, and the reader that follows it.
func (c *nodes) ensureEach(ctx context.Context) error {
	for i := range c.cluster.Nodes {
		n := &c.cluster.Nodes[i]
		if server, err := mysqld.Attach(c.dir(n)); err == nil {
			ping, cancel := context.WithTimeout(ctx, answerPatience)
			err := server.Ping(ping)
			cancel()
			if err != nil {
				return fmt.Errorf("the database server (pid %d) does not answer: %w: run `assay-lab stack down` first", server.Pid(), err)
			}
		}
		if err := c.bring(ctx, n, true); err != nil {
			return err
		}
	}
	return nil
}

// ensureUsers ensures that the users exist, on a node that writes; the others replicate
// them.
func (u *startup) ensureUsers(ctx context.Context, c *nodes, n *Node) error {
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
			return hint.With(fmt.Errorf("a database node runs in %s, and the state of the stack is lost", dir), "assay-lab stack down, assay-lab stack up")
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
