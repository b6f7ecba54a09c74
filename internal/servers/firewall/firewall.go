package firewall

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/prometheus/procfs"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"assay.dev/assay/internal/hint"
)

// Server is the server to cut off.
type Server struct {
	PID   int
	Group uint32 // the group id of its process, which no other process has
	Ports []int  // on which it listens
}

// Cut cuts the server off, with rules in a table of its own, which replaces one of the
// same name.
func Cut(table string, s Server) error {
	if err := cut(table, s); err != nil {
		return fmt.Errorf("cut off process %d: %w", s.PID, permission(err))
	}
	return nil
}

func cut(table string, s Server) error {
	ports := make([]uint16, len(s.Ports))
	for i, p := range s.Ports {
		ports[i] = uint16(p)
	}
	// First without the connections: from here on none is opened, so that none is missed.
	if err := replace(table, append(rules(s.Group, ports, nil), strict(s.Group)...)); err != nil {
		return err
	}
	open, err := connections(s.PID, ports)
	if err == nil {
		err = replace(table, append(rules(s.Group, ports, open), final(s.Group, ports)...))
	}
	if err != nil {
		err = errors.Join(err, Join(table))
	}
	return err
}

func replace(table string, all []rule) error {
	c, err := nftables.New()
	if err != nil {
		return err
	}
	chain(c, table, all)
	return c.Flush()
}

// Tables are the names of the tables that begin with a prefix.
func Tables(prefix string) ([]string, error) {
	c, err := nftables.New()
	if err != nil {
		return nil, fmt.Errorf("list nftables: %w", permission(err))
	}
	tables, err := c.ListTablesOfFamily(nftables.TableFamilyIPv4)
	if errors.Is(err, unix.EPROTONOSUPPORT) || errors.Is(err, unix.EAFNOSUPPORT) || errors.Is(err, unix.EOPNOTSUPP) {
		return nil, nil // a kernel without nftables
	}
	if err != nil {
		return nil, fmt.Errorf("list nftables: %w", permission(err))
	}
	var names []string
	for _, t := range tables {
		if strings.HasPrefix(t.Name, prefix) {
			names = append(names, t.Name)
		}
	}
	return names, nil
}

// Join removes a table: packets pass again. There may be none.
func Join(table string) error { return remove(table, table) }

// JoinAll removes all tables whose names begin with a prefix. There may be none.
func JoinAll(prefix string) error { return remove(prefix, "") }

// remove removes the tables with a prefix, or only the named one of them.
func remove(prefix, only string) error {
	names, err := Tables(prefix)
	names = slices.DeleteFunc(names, func(name string) bool { return only != "" && name != only })
	if err != nil || len(names) == 0 {
		return err
	}
	c, err := nftables.New()
	if err != nil {
		return fmt.Errorf("remove nftables: %w", permission(err))
	}
	for _, n := range names {
		c.DelTable(&nftables.Table{Name: n, Family: nftables.TableFamilyIPv4})
	}
	if err := c.Flush(); err != nil {
		return fmt.Errorf("remove nftables: %w", permission(err))
	}
	return nil
}

// ErrPermission is the error if this process may not change the packet filter.
var ErrPermission = hint.With(errors.New("the packet filter (nftables) needs root or the capability CAP_NET_ADMIN"),
	"run the command as root")

func permission(err error) error {
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		return ErrPermission
	}
	return err
}

// Allowed reports whether this process may run servers under group ids of their own, and
// change the packet filter.
func Allowed() bool {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if unix.Capget(&head, &data[0]) != nil {
		return false
	}
	has := func(capability int) bool { return data[0].Effective&(1<<capability) != 0 }
	return has(unix.CAP_SETGID) && has(unix.CAP_NET_ADMIN)
}

func connections(pid int, ports []uint16) ([]pair, error) {
	own, err := sockets(pid)
	if err != nil {
		return nil, err
	}
	list, err := netlink.SocketDiagTCP(unix.AF_INET)
	if err != nil {
		return nil, err
	}
	ofProcess := map[pair]bool{}
	for _, l := range list {
		if l.State == netlink.TCP_LISTEN || !l.ID.Source.IsLoopback() {
			continue
		}
		// A socket that the process has closed has no inode, but may still send.
		if p := (pair{l.ID.SourcePort, l.ID.DestinationPort}); own[uint64(l.INode)] || slices.Contains(ports, p.own) {
			ofProcess[p] = true
		}
	}
	var open []pair
	for p := range ofProcess {
		if !ofProcess[pair{p.peer, p.own}] { // to itself
			open = append(open, p)
		}
	}
	return open, nil
}

func sockets(pid int) (map[uint64]bool, error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return nil, err
	}
	targets, err := p.FileDescriptorTargets()
	if err != nil {
		return nil, err
	}
	found := map[uint64]bool{}
	for _, t := range targets {
		if number, ok := strings.CutPrefix(t, "socket:["); ok {
			if inode, err := strconv.ParseUint(strings.TrimSuffix(number, "]"), 10, 64); err == nil {
				found[inode] = true
			}
		}
	}
	return found, nil
}

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
