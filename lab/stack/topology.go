package stack

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"assay.dev/assay/internal/localstack"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/servers/mysqld"
	"assay.dev/assay/internal/servers/mysqld/replication"
	"assay.dev/assay/internal/servers/process"
)

// Topology is which database nodes a stack has, and how they replicate.
type Topology = localstack.Topology

// The topologies.
const (
	Single       = localstack.Single
	Replica      = localstack.Replica
	MultiPrimary = localstack.MultiPrimary
)

// Topologies are all of them.
var Topologies = []Topology{Single, Replica, MultiPrimary}

// ParseTopology refuses an unknown topology. An empty one is that of a stack that is up,
// or Single.
func ParseTopology(s string) (Topology, error) {
	if t := Topology(s); s == "" || slices.Contains(Topologies, t) {
		return t, nil
	}
	return "", hint.With(fmt.Errorf("unknown topology %q", s), "use single, replica or multi-primary")
}

// The names of the nodes.
const (
	NodeA      = "a"
	NodeB      = "b"
	Arbitrator = "arbitrator"
)

// Cluster is the database nodes of a stack that is up.
type Cluster struct {
	Topology Topology         `json:"topology"`
	Kind     replication.Kind `json:"kind"`
	Nodes    []Node           `json:"nodes"`
	Proxy    *Proxy           `json:"proxy,omitempty"`
}

// Node is a database node, or the arbitrator.
type Node struct {
	replication.Node
	Health int `json:"health,omitempty"` // port of its health endpoint
	// GroupID is the group id of the node's process, by which its packets are known; 0: it has
	// no group of its own.
	GroupID uint32 `json:"group_id,omitempty"`
	Off     bool   `json:"off,omitempty"` // it was killed or stopped on purpose
}

// Proxy is the ports of HAProxy.
type Proxy struct {
	Writer int `json:"writer"` // one writer: a, or else b
	Both   int `json:"both"`   // both nodes in turn
}

// single is the one node a, without a proxy.
func single(port int) *Cluster {
	return &Cluster{Topology: Single, Kind: replication.None, Nodes: []Node{{Node: replication.Node{Name: NodeA, ID: 1, Port: port}}}}
}

// newCluster is a cluster of a topology: the ports of clients follow that of a, the
// others are free ones.
func newCluster(t Topology, f mysqld.Flavour, proxy bool, port int, free func() (int, error)) (*Cluster, error) {
	c := single(port)
	c.Topology = t
	b := Node{Node: replication.Node{Name: NodeB, ID: 2, Port: port + 1}}
	switch t {
	case Replica:
		c.Kind, b.Reader = replication.Binlog, true
		c.Nodes = append(c.Nodes, b)
	case MultiPrimary:
		c.Kind = replication.OfWriters(f)
		c.Nodes = append(c.Nodes, b, Node{Node: replication.Node{Name: Arbitrator, ID: 3, Arbitrator: true}})
	}
	for i := range c.Nodes {
		n := &c.Nodes[i]
		var wanted []*int
		if c.Kind == replication.Galera {
			wanted = append(wanted, &n.Group, &n.Transfer)
		}
		if c.Kind == replication.Group && n.Arbitrator {
			wanted = append(wanted, &n.Port)
		}
		if proxy && !n.Arbitrator {
			wanted = append(wanted, &n.Health)
		}
		if err := choosePorts(free, wanted...); err != nil {
			return nil, err
		}
	}
	if proxy {
		c.Proxy = &Proxy{Writer: port + 2, Both: port + 3}
	}
	return c, nil
}

// choosePorts sets ports to free ones.
func choosePorts(free func() (int, error), ports ...*int) (err error) {
	for _, p := range ports {
		if *p, err = free(); err != nil {
			return err
		}
	}
	return nil
}

// checkPorts checks that all ports can be used, before anything is started.
func (c *Cluster) checkPorts() error {
	for _, n := range c.Nodes {
		for _, p := range []int{n.Port, n.Group, n.Transfer, n.Health} {
			if p == 0 {
				continue
			}
			if err := process.CheckPort(p); err != nil && len(c.Nodes) > 1 {
				return fmt.Errorf("start database node %s: %w", n.Name, err)
			} else if err != nil {
				return fmt.Errorf("start database: %w", err)
			}
		}
	}
	if c.Proxy != nil {
		for _, p := range []int{c.Proxy.Writer, c.Proxy.Both} {
			if err := process.CheckPort(p); err != nil {
				return fmt.Errorf("start HAProxy: %w", err)
			}
		}
	}
	return nil
}

// set is the nodes as they know each other.
func (c *Cluster) set(f folder) replication.Set {
	s := replication.Set{Kind: c.Kind, Name: f.dir}
	for _, n := range c.Nodes {
		s.Nodes = append(s.Nodes, n.Node)
	}
	return s
}

// node finds a node by name.
func (c *Cluster) node(name string) (*Node, error) {
	var names []string
	for i := range c.Nodes {
		if c.Nodes[i].Name == name {
			return &c.Nodes[i], nil
		}
		names = append(names, c.Nodes[i].Name)
	}
	return nil, hint.With(fmt.Errorf("the stack has no node %q", name), "its nodes are: "+strings.Join(names, ", "))
}

// servers are the nodes that are database servers.
func (c *Cluster) servers() (all []*Node) {
	for i := range c.Nodes {
		if n := &c.Nodes[i]; !c.garbd(n) {
			all = append(all, n)
		}
	}
	return all
}

// garbd reports whether the node is Galera's arbitrator, which is no database server.
func (c *Cluster) garbd(n *Node) bool { return c.Kind == replication.Galera && n.Arbitrator }

// node is the folder of a node. Each topology has data of its own, so that one can be
// started after another.
func (f folder) node(t Topology, name string) string {
	if t == Single {
		return f.database()
	}
	return filepath.Join(f.dir, string(t), name)
}

// nodes are the folders of the nodes of all topologies, in the order in which they are
// stopped: last the node that others join again first.
func (f folder) nodes() (all []string) {
	for _, t := range []Topology{MultiPrimary, Replica} {
		for _, name := range []string{Arbitrator, NodeB, NodeA} {
			all = append(all, f.node(t, name))
		}
	}
	return append(all, f.database())
}
