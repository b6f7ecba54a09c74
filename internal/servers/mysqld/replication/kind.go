package replication

import (
	"crypto/sha256"
	"fmt"

	"assay.dev/assay/internal/servers/mysqld"
)

// Kind is how the nodes replicate.
type Kind string

// The kinds of replication.
const (
	None   Kind = "none"   // one node
	Binlog Kind = "binlog" // asynchronous, from the writer to the reader
	Galera Kind = "galera"
	Group  Kind = "group-replication" // in multi-primary mode
)

// OfWriters is the kind by which several writers of a flavour replicate.
func OfWriters(f mysqld.Flavour) Kind {
	if f == mysqld.MariaDB {
		return Galera
	}
	return Group
}

// Node is one server.
type Node struct {
	Name     string
	ID       int // from 1, unique
	Port     int // of clients, on the loopback address
	Group    int // Galera: of its peers
	Transfer int // Galera: on which it receives the writes that it missed
	Reader   bool
	// Arbitrator: it only votes. Without one, of two nodes neither would have the
	// majority when the other is lost.
	Arbitrator bool
}

// Set is all nodes that replicate each other.
type Set struct {
	Kind  Kind
	Name  string // any, the same as long as there are data
	Nodes []Node
}

// short is the name of a group as Galera wants it: of at most 32 characters.
func (s Set) short() string { return "assay-" + s.uuid()[:18] }

// uuid is the name of a group as Group Replication wants it.
func (s Set) uuid() string {
	h := sha256.Sum256([]byte(s.Name))
	return fmt.Sprintf("%x-%x-%x-%x-%x", h[:4], h[4:6], h[6:8], h[8:10], h[10:16])
}
