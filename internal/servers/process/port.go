package process

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"net/netip"
	"strconv"

	"golang.org/x/sys/unix"

	"assay.dev/assay/internal/hint"
)

// Loopback is the only address on which anything of the stack listens.
const Loopback = "127.0.0.1"

// Address is the loopback address with this port.
func Address(port int) string { return net.JoinHostPort(Loopback, strconv.Itoa(port)) }

// FreePort returns a loopback port on which no process listens. No later call returns it
// again, in this process or another of this machine, until this process ends: the caller, and
// servers that it starts, may listen there at any time. A program that chooses its ports
// otherwise may still take it: see OnFreePort. It is below the range of local ports of
// outgoing connections (from 32768 by default), one of which would soon take it on a machine
// under load.
func FreePort() (int, error) { return FreePorts(1) }

// FreePorts returns the first of n ports that follow each other, each as FreePort's.
func FreePorts(n int) (first int, err error) {
	const lowest, count, tries = 20000, 12000, 100
	for range tries {
		first = lowest + rand.IntN(count-n+1)
		if err = take(first, n); err == nil {
			return first, nil
		}
	}
	return 0, fmt.Errorf("find free port: %w", err)
}

// take fails if one of n ports is not free, or was given before.
func take(first, n int) error {
	for port := first; port < first+n; port++ {
		if err := CheckPort(port); err != nil {
			return err
		}
		if err := reserve(port); err != nil {
			return err
		}
	}
	return nil
}

// reserve binds an abstract Unix socket with a name of this port. The kernel keeps such names
// by network namespace, as it does ports, and frees one with the process that bound it.
func reserve(port int) error {
	s, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("reserve port %d: %w", port, err)
	}
	err = unix.Bind(s, &unix.SockaddrUnix{Name: fmt.Sprintf("@assay-port-%d", port)})
	if err == nil {
		return nil // the socket stays open
	}
	_ = unix.Close(s)
	if errors.Is(err, unix.EADDRINUSE) {
		return PortTaken(port)
	}
	return fmt.Errorf("reserve port %d: %w", port, err)
}

// ErrPortTaken is wrapped by CheckPort.
var ErrPortTaken = hint.With(errors.New("is already in use"),
	"stop the process that listens there, or choose another port")

// PortTaken is an error that wraps ErrPortTaken and names the port.
func PortTaken(port int) error { return fmt.Errorf("port %d %w", port, ErrPortTaken) }

// portTries bounds the tries of OnFreePort.
const portTries = 5

// OnFreePort calls start with a free port, and again with another one if start fails
// because a process has taken the port in the meantime (ErrPortTaken).
func OnFreePort(start func(port int) error) error {
	for try := 1; ; try++ {
		port, err := FreePort()
		if err != nil {
			return err
		}
		if err = start(port); !errors.Is(err, ErrPortTaken) || try == portTries {
			return err
		}
	}
}

// CheckPort fails if a process listens on this loopback port. It does not listen itself,
// so that the port is free for others meanwhile: with SO_REUSEADDR, which servers set too,
// sockets may be bound to one port as long as none listens.
func CheckPort(port int) error {
	if port < 1 || port > math.MaxUint16 {
		return fmt.Errorf("port %d is not between 1 and %d", port, math.MaxUint16)
	}
	err := bind(port)
	switch {
	case errors.Is(err, unix.EADDRINUSE):
		return PortTaken(port)
	case err != nil:
		return fmt.Errorf("check port %d: %w", port, err)
	}
	return nil
}

func bind(port int) error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(s) }()
	if err := unix.SetsockoptInt(s, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
		return err
	}
	return unix.Bind(s, &unix.SockaddrInet4{Port: port, Addr: netip.MustParseAddr(Loopback).As4()})
}
