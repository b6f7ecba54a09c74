package process

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"syscall"

	"assay/harness/hint"
)

// Loopback is the only address on which anything of the stack listens.
const Loopback = "127.0.0.1"

// Address is the loopback address with this port.
func Address(port int) string { return net.JoinHostPort(Loopback, strconv.Itoa(port)) }

// FreePort returns a loopback port that nobody listens on. Somebody else may
// take it before its user does, who must be ready to ask again. It is none of
// those that the kernel gives to outgoing connections (32768 and above by
// default), which would take it soon on a machine under load.
func FreePort() (int, error) {
	const lowest, count, tries = 20000, 12000, 100
	var err error
	for range tries {
		port := lowest + rand.IntN(count)
		if err = CheckPort(port); err == nil {
			return port, nil
		}
	}
	return 0, fmt.Errorf("find free port: %w", err)
}

// ErrPortTaken is wrapped by CheckPort.
var ErrPortTaken = hint.With(errors.New("is already in use"),
	"stop what listens there (the stack of another folder?), or choose others: assay stack up --db-port N --target-port M --influx-port K")

// CheckPort fails if somebody listens on this loopback port.
func CheckPort(port int) error {
	l, err := net.Listen("tcp", Address(port))
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("port %d %w", port, ErrPortTaken)
	case err != nil:
		return fmt.Errorf("listen on port %d: %w", port, err)
	}
	return l.Close()
}
