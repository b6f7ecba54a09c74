package networktest

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"assay.dev/assay/internal/hint"
)

// ownNamespace is the network namespace of the calling thread.
const ownNamespace = "/proc/thread-self/ns/net"

// namespace is a network namespace with its loopback interface up. It exists as long
// as its file, its netlink socket, or a process or socket in it.
type namespace struct {
	file    *os.File
	netlink *netlink.Handle // changes the namespace's devices, from any thread
}

func newNamespace() (*namespace, error) {
	ns := &namespace{}
	err := inNamespace(func() error {
		err := unix.Unshare(unix.CLONE_NEWNET)
		if errors.Is(err, unix.EPERM) {
			return hint.With(err, "run the tests as root")
		}
		return err
	}, func() (err error) {
		ns.file, err = os.Open(ownNamespace)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("make network namespace: %w", err)
	}
	ns.netlink, err = netlink.NewHandleAt(netns.NsHandle(ns.file.Fd()), unix.NETLINK_ROUTE)
	if err != nil {
		_ = ns.file.Close()
		return nil, fmt.Errorf("open netlink socket in network namespace: %w", err)
	}
	if err := ns.onLink("lo", ns.netlink.LinkSetUp); err != nil {
		ns.close()
		return nil, err
	}
	return ns, nil
}

func (ns *namespace) close() {
	ns.netlink.Close()
	_ = ns.file.Close()
}

// do calls f on a thread in the namespace.
func (ns *namespace) do(f func() error) error {
	return inNamespace(func() error {
		if err := unix.Setns(int(ns.file.Fd()), unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("enter network namespace: %w", err)
		}
		return nil
	}, f)
}

// onLink calls f with a device of the namespace.
func (ns *namespace) onLink(name string, f func(netlink.Link) error) error {
	link, err := ns.netlink.LinkByName(name)
	if err == nil {
		err = f(link)
	}
	if err != nil {
		return fmt.Errorf("set up %s: %w", name, err)
	}
	return nil
}

// giveUpConnections makes the kernel forget the connections that no process holds after
// one more try to tell the other end. Until then, which may be minutes where the link is
// cut, they would keep the namespace.
func (ns *namespace) giveUpConnections() error {
	return ns.do(func() error {
		return os.WriteFile("/proc/sys/net/ipv4/tcp_orphan_retries", []byte("1"), 0)
	})
}

// inNamespace calls f between enter, which changes the namespace of the calling thread,
// and the restoration of that namespace. It panics if it cannot restore it, as other
// goroutines would continue on this thread in a wrong network.
func inNamespace(enter, f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	own, err := os.Open(ownNamespace)
	if err != nil {
		return err
	}
	defer func() { _ = own.Close() }()
	if err := enter(); err != nil {
		return err
	}
	defer func() {
		if err := unix.Setns(int(own.Fd()), unix.CLONE_NEWNET); err != nil {
			panic(fmt.Sprintf("restore the thread's network namespace: %v", err))
		}
	}()
	return f()
}
