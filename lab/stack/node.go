package stack

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"assay.dev/assay/internal/servers/mysqld"
	"assay.dev/assay/internal/servers/mysqld/replication"
	"assay.dev/assay/internal/servers/process"
)

// joinTimeout bounds how long a node may take to receive what it lacks.
const joinTimeout = 3 * time.Minute

// nodes starts and ends the nodes of a cluster.
type nodes struct {
	folder
	cluster *Cluster
	binary  mysqld.Binary
	args    []string // further options of every server
	users   Users
	log     *slog.Logger
	// started is called with each process as soon as it runs.
	started func(n *Node, stop func() error) error
}

func (c *nodes) dir(n *Node) string { return c.folder.node(c.cluster.Topology, n.Name) }

// open opens a node's database as root.
func (c *nodes) open(n *Node) (*sql.DB, *mysqld.Server, error) {
	server, err := mysqld.Attach(c.dir(n))
	if err != nil {
		return nil, nil, err
	}
	db, err := server.Open()
	return db, server, err
}

// state is what a running node says of itself.
func (c *nodes) state(ctx context.Context, n *Node) (replication.State, error) {
	db, _, err := c.open(n)
	if err != nil {
		return replication.State{}, err
	}
	defer func() { _ = db.Close() }()
	ctx, cancel := context.WithTimeout(ctx, statusPatience)
	defer cancel()
	return replication.Read(ctx, db, c.cluster.Kind, n.Reader)
}

// alive reports whether a node's process runs.
func (c *nodes) alive(n *Node) bool {
	if c.cluster.garbd(n) {
		return c.folder.arbitrator().alive()
	}
	_, err := mysqld.Attach(c.dir(n))
	return err == nil
}

// join makes the running server of a node a member of its group, or a replica, and waits
// until it has caught up.
func (c *nodes) join(ctx context.Context, n *Node, first bool) error {
	if c.cluster.garbd(n) {
		return nil
	}
	db, server, err := c.open(n)
	if err != nil {
		return c.ofNode(n, err)
	}
	defer func() { _ = db.Close() }()
	a := replication.Account{User: c.users.Replication.Name, Password: c.users.Replication.Password.reveal()}
	if n.Reader {
		writer, err := c.cluster.node(NodeA)
		if err == nil {
			err = replication.Follow(ctx, db, c.binary.Flavour, writer.Port, a)
		}
		if err != nil {
			return fmt.Errorf("node %s: %w", n.Name, err)
		}
	}
	ctx, ended := context.WithCancelCause(ctx)
	defer ended(nil)
	err = process.Await(ctx, joinTimeout, nil, func(ctx context.Context) error {
		if !server.Alive() {
			ended(errors.New("the server ended while it joined"))
		}
		one, cancel := context.WithTimeout(ctx, statusPatience)
		defer cancel()
		s, err := replication.Read(one, db, c.cluster.Kind, n.Reader)
		if err != nil || s.Ready {
			return err
		}
		if c.cluster.Kind == replication.Group && s.Outside {
			if err := replication.JoinGroup(ctx, db, first, a); err != nil {
				return err
			}
		}
		return fmt.Errorf("its state is: %s", s.Text)
	})
	if err != nil {
		return fmt.Errorf("node %s does not join: %w (log: %s)", n.Name, c.withCopyHint(n, err), mysqld.LogFile(c.dir(n)))
	}
	return nil
}

// bring starts a node unless it runs, and makes it join.
func (c *nodes) bring(ctx context.Context, n *Node, first bool) error {
	if !c.alive(n) {
		if err := c.launch(ctx, n, first); err != nil {
			return err
		}
	}
	return c.join(ctx, n, first)
}

// end ends a node's process, as kill -9 does or in order.
func (c *nodes) end(n *Node, kill bool) error {
	if c.cluster.garbd(n) {
		if kill {
			return c.folder.arbitrator().end(process.Identity.Kill)
		}
		return c.folder.arbitrator().stop()
	}
	return endServer(c.dir(n), kill)
}

func endServer(dir string, kill bool) error {
	server, err := mysqld.Attach(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if kill {
		return server.Kill()
	}
	return server.Stop()
}

// ofNode is an error with the node's name, where there are several.
func (c *nodes) ofNode(n *Node, err error) error {
	if len(c.cluster.Nodes) == 1 {
		return err
	}
	return fmt.Errorf("node %s: %w", n.Name, err)
}
