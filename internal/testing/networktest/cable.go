package networktest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vishvananda/netlink"

	"assay.dev/assay/internal/servers/process"
)

// wire joins a host's device to a port of the hub.
type wire interface {
	cut() error
	// restore sets the wire up, also for the first time, and returns when it carries
	// packets.
	restore() error
	// close reports whether the wire failed while it was in use.
	close() error
}

// cable is a pair of virtual Ethernet devices.
type cable struct {
	host, hub *namespace
	port      string
}

func newCable(h *Host, port string) (wire, error) {
	c := &cable{host: h.namespace, hub: h.network.hub, port: port}
	pair := netlink.NewVeth(netlink.LinkAttrs{Name: port})
	pair.PeerName, pair.PeerNamespace = device, netlink.NsFd(int(c.host.file.Fd()))
	if err := c.hub.netlink.LinkAdd(pair); err != nil {
		return nil, fmt.Errorf("add pair of virtual Ethernet devices: %w", err)
	}
	return c, nil
}

// cut sets the hub's end down, as if the cable were pulled there. The host's end keeps
// its address and routes.
func (c *cable) cut() error {
	return c.hub.onLink(c.port, c.hub.netlink.LinkSetDown)
}

// cableTimeout is only reached where the kernel fails.
const cableTimeout = time.Minute

func (c *cable) restore() error {
	if err := c.hub.onLink(c.port, c.hub.netlink.LinkSetUp); err != nil {
		return err
	}
	// The kernel notices the other end a little later, and drops packets until then.
	return process.Await(context.Background(), cableTimeout, nil, func(context.Context) error {
		for ns, name := range map[*namespace]string{c.hub: c.port, c.host: device} {
			link, err := ns.netlink.LinkByName(name)
			if err != nil {
				return err
			}
			if link.Attrs().OperState != netlink.OperUp {
				return errors.New(name + " has no carrier")
			}
		}
		return nil
	})
}

// close does nothing: the devices end with their namespaces.
func (c *cable) close() error { return nil }
