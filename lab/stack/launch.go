package stack

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/servers/firewall"
	"assay.dev/assay/internal/servers/mysqld"
	"assay.dev/assay/internal/servers/mysqld/replication"
	"assay.dev/assay/internal/servers/process"
)

// options are those of a node's server.
func (c *nodes) options(n *Node) (mysqld.Options, error) {
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
	o.Args = append(o.Args, c.args...)
	return o, nil
}

// launchTries bounds the tries of launch.
const launchTries = 5

// launch starts the server of a node, which is then in no group, or, of Galera, joins one;
// first: it begins one. Where Galera fails for a reason that passes, it is started again, on
// other ports for its peers.
func (c *nodes) launch(ctx context.Context, n *Node, first bool) error {
	for try := 1; ; try++ {
		err := c.launchOnPorts(ctx, n, first)
		if err == nil || replication.PassingFailure(err.Error()) == "" || try == launchTries {
			return err
		}
		c.log.Info("starting the node again, on other ports for its peers", "node", n.Name, "err", err)
		if err := choosePorts(process.FreePort, &n.Group, &n.Transfer); err != nil {
			return err
		}
	}
}

func (c *nodes) launchOnPorts(ctx context.Context, n *Node, first bool) error {
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
		if reason := replication.PassingFailure(log.Written()); reason != "" {
			err = errors.New(reason)
		}
		return errors.Join(fmt.Errorf("start arbitrator: %w (log: %s)", err, d.log), d.end(process.Identity.Kill))
	}
	c.log.Info("arbitrator is up", "pid", child.PID)
	return nil
}

// withCopyHint says how a node that cannot catch up gets its data again.
func (c *nodes) withCopyHint(n *Node, err error) error {
	return hint.Or(err, fmt.Sprintf("if it has missed more than its peers keep, copy it again: assay-lab stack down, rm -r %s, assay-lab stack up --topology %s", c.dir(n), c.cluster.Topology))
}
