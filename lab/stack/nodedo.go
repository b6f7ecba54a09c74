package stack

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/servers/firewall"
	"assay.dev/assay/internal/servers/mysqld"
)

// Action is what NodeDo does to a database node.
type Action string

// The actions. The last one undoes each of the others.
const (
	Kill     Action = "kill"  // ends the process at once (SIGKILL), as a crash does
	Shutdown Action = "stop"  // shuts the server down in order
	Cut      Action = "cut"   // no packet passes between the node and clients or peers; the process runs on
	Start    Action = "start" // lets packets pass, starts the process unless it runs, and waits until the node has caught up
)

// Actions are all of them.
var Actions = []Action{Kill, Shutdown, Cut, Start}

// NodeDo does something to a database node of the stack of a folder, also while a run has
// reserved the stack. It can be repeated. It returns when it is done, or with an error
// when ctx ends: kill takes less than a second, stop at most about half a minute, start
// at most a few minutes, for a node that has much to catch up.
func NodeDo(ctx context.Context, dir, node string, do Action) error {
	if !slices.Contains(Actions, do) {
		return hint.With(fmt.Errorf("unknown action %q", do), "use kill, stop, cut or start")
	}
	f, err := at(dir)
	if err != nil {
		return err
	}
	s, err := f.load()
	if err != nil {
		return err
	}
	down := hint.With(fmt.Errorf("%s node %s: the stack is down", do, node), "start it: assay-lab stack up --topology multi-primary")
	if s == nil || s.Cluster == nil {
		return down
	}
	release, err := f.lock(ctx, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer release()
	// Again: another command may have changed it.
	if s, err = f.load(); err != nil {
		return err
	}
	if s == nil || s.Cluster == nil {
		return down
	}
	n, err := s.Cluster.node(node)
	if err != nil {
		return err
	}
	c := &nodes{
		folder: f, cluster: s.Cluster, binary: s.Database.Binary, args: s.Database.Args, users: s.Users, log: slog.New(slog.DiscardHandler),
		started: func(n *Node, _ func() error) error {
			if n.Name == NodeA {
				if server, err := mysqld.Attach(f.node(s.Cluster.Topology, NodeA)); err == nil {
					s.Database.Process = server.Identity()
				}
			}
			return f.save(s)
		},
	}
	switch do {
	case Cut:
		return c.cut(n)
	case Start:
		err = c.start(ctx, n)
	default:
		err = c.end(n, do == Kill)
		if !c.alive(n) {
			n.Off = true
		}
		// After the process: until it has ended it is still cut off.
		err = errors.Join(err, f.uncut(n.Name))
	}
	if err != nil {
		err = fmt.Errorf("%s node: %w", do, err)
	}
	return errors.Join(err, f.save(s))
}

// NodeReady returns why a database node of the stack of a folder is not in use: it does not
// run, or has not joined the others. nil: it is.
func NodeReady(dir, node string) error {
	_, processes, err := Status(dir)
	if err != nil {
		return err
	}
	for _, p := range processes {
		// The only node of a stack is its database.
		if p.Name != "node "+node && p.Name != node && !(p.Name == "database" && node == NodeA) {
			continue
		}
		if p.Condition != IsUp {
			return hint.With(fmt.Errorf("node %s is %s", node, p.Condition), "bring it back: assay-lab stack node start "+node)
		}
		return nil
	}
	return fmt.Errorf("the stack has no node %s", node)
}

// start brings a node back into its group.
func (c *nodes) start(ctx context.Context, n *Node) error {
	if err := c.folder.uncut(n.Name); err != nil {
		return err
	}
	// A server that runs may be the last one of its group; another one has to join it.
	if len(c.cluster.Nodes) > 2 && !c.cluster.garbd(n) && !c.alive(n) {
		others := slices.DeleteFunc(c.cluster.servers(), func(m *Node) bool { return m == n || !c.alive(m) })
		if len(others) == 0 {
			return errNoQuorum(errors.New("no other node runs"))
		}
		if _, err := c.awaitQuorum(ctx, others); err != nil {
			return err
		}
	}
	return c.bring(ctx, n, false)
}

// cut cuts a node off.
func (c *nodes) cut(n *Node) error {
	if !c.alive(n) {
		return hint.With(fmt.Errorf("node %s does not run", n.Name), "start it: assay-lab stack node start "+n.Name)
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

// table begins the names of the tables of the packet filter of a stack; the name of a
// node follows.
func (f folder) table() string {
	return fmt.Sprintf("assay_%x_", sha256.Sum256([]byte(f.dir)))[:len("assay_")+12] + "_"
}
