package target

import (
	"errors"
	"fmt"
	"net"
	"syscall"
)

// minOpenFiles is enough to listen, to connect to the database and to be scraped.
const minOpenFiles = 32

// limitOpenFiles sets the process's limit of open files; 0 leaves it as it is. restore
// sets the limit of before.
func limitOpenFiles(limit int) (restore func(), err error) {
	if limit == 0 {
		return func() {}, nil
	}
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		return nil, fmt.Errorf("--max-open-files %d: %w", limit, err)
	}
	if uint64(limit) > before.Max {
		return nil, fmt.Errorf("--max-open-files %d: the hard limit is %d", limit, before.Max)
	}
	// The hard limit stays, so that the limit can be restored.
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: uint64(limit), Max: before.Max}); err != nil {
		return nil, fmt.Errorf("--max-open-files %d: %w", limit, err)
	}
	return func() { _ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before) }, nil // it was this before
}

// countedListener counts connections that could not be accepted. net/http tries again
// after a pause, and the client waits.
type countedListener struct {
	net.Listener
	m *metrics
}

func (l countedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil && !errors.Is(err, net.ErrClosed) {
		l.m.errors.WithLabelValues(classOf(err)).Inc()
	}
	return c, err
}
