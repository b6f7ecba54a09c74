package networktest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Link is what a link does to packets, each way.
type Link struct {
	Delay time.Duration // at least; packets keep their order
	Loss  float64       // probability [0,1] that a packet is lost, independently of others
}

const (
	// maxQueue bounds the packets that wait in a device, and those that wait in a relay
	// for the end of their delay, each way: 2 s of 60 Mbit/s. More are lost.
	maxQueue = 10_000
	// maxPacket is the size of an Ethernet frame of 1,500 bytes with its header, and
	// some.
	maxPacket = 2048
)

// relay joins a host to the hub by two TAP devices, between which it copies packets.
type relay struct {
	host, hub  *os.File
	link       atomic.Pointer[Link]
	isCut      atomic.Bool
	closed     chan struct{}
	goroutines sync.WaitGroup
	failed     chan error // the first error of each direction
}

// newRelay makes the devices and starts to copy. The loss of each port is drawn from a
// seed of its own.
func newRelay(h *Host, port string, link Link) (*relay, error) {
	r := &relay{closed: make(chan struct{}), failed: make(chan error, 2)}
	r.link.Store(&link)
	var err error
	if r.host, err = openTAP(h.namespace, device); err != nil {
		return nil, err
	}
	if r.hub, err = openTAP(h.network.hub, port); err != nil {
		_ = r.host.Close()
		return nil, err
	}
	seed := uint64(h.address.As4()[3])
	r.start(r.host, r.hub, rand.NewPCG(seed, 0))
	r.start(r.hub, r.host, rand.NewPCG(seed, 1))
	if err := h.network.hub.onLink(port, h.network.hub.netlink.LinkSetUp); err != nil {
		return nil, errors.Join(err, r.close())
	}
	return r, nil
}

// openTAP makes a device whose packets are read and written by the file.
func openTAP(ns *namespace, name string) (file *os.File, err error) {
	const path = "/dev/net/tun"
	err = ns.do(func() error {
		fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
		if err != nil {
			return err
		}
		request, err := unix.NewIfreq(name)
		if err == nil {
			request.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
			err = unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
		}
		if err != nil {
			_ = unix.Close(fd)
			return err
		}
		file = os.NewFile(uintptr(fd), path)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("add TAP device %s by %s: %w", name, path, err)
	}
	// It holds as many packets as a relay: none is lost where this process waits for a CPU.
	if err := ns.onLink(name, func(l netlink.Link) error { return ns.netlink.LinkSetTxQLen(l, maxQueue) }); err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

func (r *relay) cut() error {
	r.isCut.Store(true)
	return nil
}

func (r *relay) restore() error {
	r.isCut.Store(false)
	return nil
}

// close ends the goroutines and removes the devices.
func (r *relay) close() error {
	close(r.closed)
	_ = r.host.Close()
	_ = r.hub.Close()
	r.goroutines.Wait()
	close(r.failed)
	return <-r.failed
}

// packet is an Ethernet frame that is due at a time.
type packet struct {
	due  time.Time
	data []byte
}

// start copies the packets of one direction until the relay is closed: one goroutine
// reads them when they are sent, another writes them when they are due.
func (r *relay) start(from, to *os.File, source rand.Source) {
	queue := make(chan packet, maxQueue)
	r.goroutines.Go(func() {
		defer close(queue)
		if err := r.read(from, queue, rand.New(source)); !errors.Is(err, os.ErrClosed) {
			r.failed <- err
		}
	})
	r.goroutines.Go(func() { r.write(to, queue) })
}

// read puts packets into the queue until it fails to read.
func (r *relay) read(from *os.File, queue chan<- packet, random *rand.Rand) error {
	buffer := make([]byte, maxPacket)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return err
		}
		link := r.link.Load()
		if r.isCut.Load() || random.Float64() < link.Loss {
			continue
		}
		select {
		case queue <- packet{time.Now().Add(link.Delay), append([]byte(nil), buffer[:n]...)}:
		default: // full
		}
	}
}

// write writes the packets of the queue until the relay is closed.
func (r *relay) write(to *os.File, queue <-chan packet) {
	for p := range queue {
		if wait := time.Until(p.due); wait > 0 {
			select {
			case <-r.closed:
				return
			case <-time.After(wait):
			}
		}
		if !r.isCut.Load() {
			_, _ = to.Write(p.data) // what a device that is not up refuses is lost
		}
	}
}
