package stack

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"assay/harness/hint"
	"assay/harness/servers/firewall"
	"assay/harness/servers/mysqld"
	"assay/harness/servers/mysqld/replication"
	"assay/harness/servers/process"
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

// options are those of a node's server.
func (c *nodes) options(n *Node, extra ...string) (mysqld.Options, error) {
	o := mysqld.Options{Dir: c.dir(n), Port: n.Port, Binary: c.binary, Detach: true, Group: n.GroupID}
	provider := ""
	if c.cluster.Kind == replication.Galera {
		var err error
		if provider, err = replication.Provider(); err != nil {
			return o, err
		}
		path, err := replication.WriteTransfer(filepath.Join(c.folder.dir, "bin"))
		if err != nil {
			return o, fmt.Errorf("start node %s: %w", n.Name, err)
		}
		o.Env = append(o.Env, path)
	}
	o.Args = append(o.Args, c.cluster.set(c.folder).Args(n.Node, c.binary.Flavour, provider)...)
	o.Args = append(append(o.Args, c.args...), extra...)
	return o, nil
}

// launch starts the server of a node, which is then in no group, or, of Galera, joins one;
// first: it begins one.
func (c *nodes) launch(ctx context.Context, n *Node, first bool) error {
	n.GroupID = 0
	if firewall.Allowed() {
		// Its port is unique on this machine, and small enough for any container.
		n.GroupID = uint32(max(n.Port, n.Group))
	}
	if c.cluster.garbd(n) {
		return c.launchArbitrator(ctx, n)
	}
	o, err := c.options(n)
	if err != nil {
		return err
	}
	if c.cluster.Kind == replication.Galera {
		if err := c.galeraPosition(ctx, &o, first); err != nil {
			return fmt.Errorf("start node %s: %w", n.Name, err)
		}
	}
	begin := time.Now()
	server, err := mysqld.Start(ctx, o)
	if err != nil {
		if c.cluster.Kind == replication.Galera && !first && ctx.Err() == nil {
			err = c.withCopyHint(n, err)
		}
		return c.ofNode(n, err)
	}
	n.Off = false
	c.log.Info("database is up", "node", n.Name, "port", server.Port(), "pid", server.Pid(), "took", time.Since(begin).Round(time.Millisecond))
	return c.started(n, server.Stop)
}

func (c *nodes) galeraPosition(ctx context.Context, o *mysqld.Options, first bool) error {
	if ok, err := mysqld.Exists(o.Dir); err != nil {
		return err
	} else if !ok {
		o.Args = append(o.Args, "--wsrep-cluster-address=gcomm://")
		return nil
	}
	at, err := replication.GaleraPosition(ctx, *o)
	if err != nil {
		return err
	}
	if first {
		if err := replication.AllowFirst(o.Dir); err != nil {
			return err
		}
	}
	o.Args = append(o.Args, replication.PositionArgs(at, first)...)
	return nil
}

func (c *nodes) launchArbitrator(ctx context.Context, n *Node) error {
	binary, err := replication.Garbd()
	if err != nil {
		return err
	}
	cmd := exec.Command(binary, c.cluster.set(c.folder).ArbitratorArgs(n.Node)...)
	cmd.Env = process.Environment()
	cmd.Dir = c.folder.logs() // it keeps a file of its view in its working directory
	d := c.folder.arbitrator()
	log, err := process.OpenLog(d.log)
	if err != nil {
		return fmt.Errorf("start arbitrator: %w", err)
	}
	defer func() { _ = log.Close() }()
	child, err := d.start(cmd, n.GroupID)
	if err != nil {
		return err
	}
	n.Off = false
	if err := c.started(n, d.stop); err != nil {
		return err
	}
	// Until then it ends if the node that lets it in ends. It tells only its log.
	err = child.Await(ctx, joinTimeout, func(context.Context) error {
		if !strings.Contains(log.Written(), "-> SYNCED") {
			return errors.New("it has not joined the group")
		}
		return nil
	})
	if err != nil {
		return errors.Join(fmt.Errorf("start arbitrator: %w (log: %s)", err, d.log), d.end(process.Identity.Kill))
	}
	c.log.Info("arbitrator is up", "pid", child.PID)
	return nil
}

// withCopyHint says how a node that cannot catch up gets its data again.
func (c *nodes) withCopyHint(n *Node, err error) error {
	return hint.Or(err, fmt.Sprintf("if it has missed more than its peers keep, copy it again: assay stack down, rm -r %s, assay stack up --topology %s", c.dir(n), c.cluster.Topology))
}

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

// cut cuts a node off.
func (c *nodes) cut(n *Node) error {
	if !c.alive(n) {
		return hint.With(fmt.Errorf("node %s does not run", n.Name), "start it: assay stack node start "+n.Name)
	}
	if !firewall.Allowed() {
		return fmt.Errorf("cut off node %s: %w", n.Name, firewall.ErrPermission)
	}
	if n.GroupID == 0 {
		return hint.With(fmt.Errorf("node %s was started without root, so that its packets are not known", n.Name),
			"stop the stack, and start it as root")
	}
	s := firewall.Server{PID: c.folder.arbitrator().identity().PID, Group: n.GroupID}
	if !c.cluster.garbd(n) {
		server, err := mysqld.Attach(c.dir(n))
		if err != nil {
			return err
		}
		s.PID = server.Pid()
	}
	for _, p := range []int{n.Port, n.Group, n.Transfer} {
		if p != 0 {
			s.Ports = append(s.Ports, p)
		}
	}
	return firewall.Cut(c.folder.table()+n.Name, s)
}

// uncut removes the rules of a node, or of all nodes if name is empty. A user who may not
// do that cannot have made any.
func (f folder) uncut(name string) error {
	if !firewall.Allowed() {
		return nil
	}
	if name == "" {
		return firewall.JoinAll(f.table())
	}
	return firewall.Join(f.table() + name)
}

// ofNode is an error with the node's name, where there are several.
func (c *nodes) ofNode(n *Node, err error) error {
	if len(c.cluster.Nodes) == 1 {
		return err
	}
	return fmt.Errorf("node %s: %w", n.Name, err)
}
