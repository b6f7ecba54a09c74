package stack

import (
	"crypto/sha256"
	"fmt"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/servers/firewall"
	"assay.dev/assay/internal/servers/mysqld"
)

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
