package stack

import (
	"context"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"assay.dev/assay/internal/servers/firewall"
	"assay.dev/assay/internal/servers/mysqld"
	"assay.dev/assay/internal/servers/mysqld/replication"
	"assay.dev/assay/internal/servers/process"
)

// Condition is the state of a component.
type Condition string

// The conditions of a component.
const (
	IsUp      Condition = "up"
	IsSilent  Condition = "not answering" // it runs, and may be starting or overloaded
	IsCrashed Condition = "crashed"       // it ended without a Down
	IsDown    Condition = "down"
	IsApart   Condition = "not ready" // a node that answers, but is no full member of its group, or does not replicate
	IsCut     Condition = "cut off"   // by NodeDo
)

// Process is the status of a component, without secrets.
type Process struct {
	Name      string    `json:"name"` // "database", or "node a" and so on; "target", "influxdb", "haproxy", "health"
	Condition Condition `json:"condition"`
	PID       int       `json:"pid,omitempty"`
	Port      int       `json:"port,omitempty"`
	What      string    `json:"what,omitempty"` // such as "mysql 9.7.4", or a URL
	Log       string    `json:"log"`
}

// statusPatience bounds the health check of each component.
const statusPatience = 2 * time.Second

// Status returns the state of the stack, nil if there was none yet, and the status of
// its components. It takes no lock, and so does not wait for another command.
func Status(dir string) (*State, []Process, error) {
	f, err := at(dir)
	if err != nil {
		return nil, nil, err
	}
	s, err := f.load()
	if err != nil {
		return nil, nil, err
	}
	known := s
	if known == nil {
		known = &State{}
	}
	return s, append(append(databaseStatus(f, known), targetStatus(f, known), influxStatus(f, known)), proxyStatus(f, known)...), nil
}

// databaseStatus is that of each node.
func databaseStatus(f folder, s *State) (all []Process) {
	c := s.Cluster
	if c == nil {
		// Without the state, a server is found by its own files.
		c = &Cluster{Topology: Single, Nodes: []Node{{Node: replication.Node{Name: NodeA}}}, Kind: replication.None}
	}
	var cut []string
	if firewall.Allowed() {
		cut, _ = firewall.Tables(f.table())
	}
	for i := range c.Nodes {
		p := nodeStatus(f, s, c, &c.Nodes[i])
		if slices.Contains(cut, f.table()+c.Nodes[i].Name) {
			p.Condition = IsCut
		}
		if len(c.Nodes) == 1 {
			p.Name = "database"
		}
		all = append(all, p)
	}
	return all
}

func nodeStatus(f folder, s *State, cluster *Cluster, n *Node) Process {
	c := &nodes{folder: f, cluster: cluster}
	p := Process{Name: "node " + n.Name, Condition: IsDown, Log: mysqld.LogFile(c.dir(n))}
	if cluster.garbd(n) {
		d := f.arbitrator()
		p.Name, p.Port, p.Log, p.What = n.Name, n.Group, d.log, "garbd"
		switch {
		case d.alive():
			p.Condition, p.PID = IsUp, d.identity().PID
		case !n.Off:
			p.Condition = IsCrashed
		}
		return p
	}
	if n.Arbitrator {
		p.Name = n.Name
	}
	server, err := mysqld.Attach(c.dir(n))
	if err != nil {
		if db := s.Database; db.Port != 0 {
			p.Port = n.Port
			p.What = fmt.Sprintf("%s %s", db.Binary.Flavour, db.Binary.Version)
			if n.Name == NodeA {
				p.PID = db.Process.PID
			}
			if !n.Off {
				p.Condition = IsCrashed
			}
		}
		return p
	}
	p.Condition, p.PID, p.Port = IsSilent, server.Pid(), server.Port()
	p.What = fmt.Sprintf("%s %s", server.Binary().Flavour, server.Binary().Version)
	ctx, cancel := context.WithTimeout(context.Background(), statusPatience)
	defer cancel()
	state, err := c.state(ctx, n)
	switch {
	case err != nil:
		return p
	case state.Ready:
		p.Condition = IsUp
	default:
		p.Condition = IsApart
	}
	if state.Text != "" {
		p.What += ", " + state.Text
	}
	return p
}

// proxyStatus is that of HAProxy and the health endpoint, where the stack has them.
func proxyStatus(f folder, s *State) []Process {
	if s.Cluster == nil || s.Cluster.Proxy == nil {
		return nil
	}
	ports := s.Cluster.Proxy
	all := []Process{
		{Name: "haproxy", Port: ports.Writer, What: fmt.Sprintf("one writer at %s, both nodes at %s", process.Address(ports.Writer), process.Address(ports.Both))},
		{Name: "health", What: "for HAProxy"},
	}
	for i, d := range []daemon{f.proxy(), f.health()} {
		all[i].Condition, all[i].Log = IsCrashed, d.log
		if d.alive() {
			all[i].Condition, all[i].PID = IsUp, d.identity().PID
		}
	}
	return all
}

func targetStatus(f folder, s *State) Process {
	p := Process{Name: "target", Condition: IsDown, Log: f.targetLog()}
	if s.Target.Port == 0 {
		return p
	}
	p.PID, p.Port, p.What = s.Target.Process.PID, s.Target.Port, s.TargetURL()
	if !s.Target.Process.Alive() {
		p.Condition = IsCrashed
		return p
	}
	p.Condition = IsSilent
	ctx, cancel := context.WithTimeout(context.Background(), statusPatience)
	defer cancel()
	if healthy(ctx, s.TargetURL()) == nil {
		p.Condition = IsUp
	}
	return p
}

// WriteStatus writes a line for each component.
func WriteStatus(w io.Writer, dir string) error {
	_, processes, err := Status(dir)
	if err != nil {
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, p := range processes {
		pid := ""
		if p.PID > 0 {
			pid = fmt.Sprintf("pid %d", p.PID)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", p.Name, p.Condition, p.What, pid, p.Log)
	}
	return t.Flush()
}
