package firewall

import (
	"encoding/binary"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// pair is a connection: the process's port and its peer's.
type pair struct{ own, peer uint16 }

// rule is a sequence of expressions that ends in a verdict.
type rule []expr.Any

// rules are those of a process with this group id, its ports and connections, in order.
func rules(group uint32, ports []uint16, connections []pair) []rule {
	var all []rule
	for _, p := range ports {
		// By the process itself.
		all = append(all, join(ofGroup(group), destination(p), accept))
		all = append(all, join(destination(p), drop))
	}
	for _, c := range connections {
		all = append(all, join(source(c.own), destination(c.peer), drop), join(source(c.peer), destination(c.own), drop))
	}
	return all
}

// strict end the rules while the connections are not yet known, final those when they
// are: then no other packet from a port of the process can be to anyone but itself.
func strict(group uint32) []rule { return []rule{join(ofGroup(group), drop)} }

func final(group uint32, ports []uint16) []rule {
	var all []rule
	for _, p := range ports {
		all = append(all, join(ofGroup(group), source(p), accept))
	}
	return append(all, strict(group)...)
}

var (
	accept = rule{&expr.Verdict{Kind: expr.VerdictAccept}}
	drop   = rule{&expr.Counter{}, &expr.Verdict{Kind: expr.VerdictDrop}}
)

func join(parts ...rule) (r rule) {
	for _, p := range parts {
		r = append(r, p...)
	}
	return r
}

// ofGroup matches packets of sockets that were opened under a group id.
func ofGroup(id uint32) rule {
	return rule{&expr.Meta{Key: expr.MetaKeySKGID, Register: 1}, equal(binary.NativeEndian.AppendUint32(nil, id))}
}

func source(port uint16) rule { return tcpPort(0, port) }

func destination(port uint16) rule { return tcpPort(2, port) }

// tcpPort matches a port at an offset in the header of TCP.
func tcpPort(offset uint32, port uint16) rule {
	return rule{
		&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: 1}, equal([]byte{unix.IPPROTO_TCP}),
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseTransportHeader, Offset: offset, Len: 2},
		equal(binary.BigEndian.AppendUint16(nil, port)),
	}
}

func equal(data []byte) *expr.Cmp { return &expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: data} }

// chain adds the table, emptied, with these rules.
func chain(c *nftables.Conn, table string, all []rule) {
	t := &nftables.Table{Name: table, Family: nftables.TableFamilyIPv4}
	// Added first: deleting one that is missing would fail the transaction.
	c.AddTable(t)
	c.DelTable(t)
	c.AddTable(t)
	policy := nftables.ChainPolicyAccept
	output := c.AddChain(&nftables.Chain{
		Name: "output", Table: t, Type: nftables.ChainTypeFilter,
		Hooknum: nftables.ChainHookOutput, Priority: nftables.ChainPriorityFilter, Policy: &policy,
	})
	for _, r := range all {
		c.AddRule(&nftables.Rule{Table: t, Chain: output, Exprs: r})
	}
}
