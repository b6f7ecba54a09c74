package firewall

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/nftables"
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
func Join(table string) error {
	return remove(table, func(name string) bool { return name == table })
}

// JoinAll removes all tables whose names begin with a prefix. There may be none.
func JoinAll(prefix string) error {
	return remove(prefix, func(string) bool { return true })
}

// remove removes those of the tables with a prefix that are wanted.
func remove(prefix string, wanted func(name string) bool) error {
	names, err := Tables(prefix)
	names = slices.DeleteFunc(names, func(name string) bool { return !wanted(name) })
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

// connections are those between a process and others.
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

// sockets are the inodes of a process's sockets.
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
