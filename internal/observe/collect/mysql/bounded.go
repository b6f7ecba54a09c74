package mysql

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"sync/atomic"
	"syscall"
)

// socket is a connection of the network, of any kind.
type socket interface {
	net.Conn
	syscall.Conn
}

// bounded is a connection whose other side cannot announce columns by the billion: the driver
// makes room for all of them at once, and no guard helps a process without memory. What TLS or
// compression hides is not looked at.
type bounded struct {
	socket
	loggedIn *atomic.Bool // until then an answer of this form asks to log in otherwise
	opaque   bool         // by TLS or compression
	header   []byte       // of a packet, as far as it has arrived
	body     int          // bytes of a packet that are still to come
	first    bool         // the next one is the first of an answer's part
	size     int          // of the packet
}

const (
	headerSize = 4
	// longest is the size of a packet that is continued by the next.
	longest = 1<<24 - 1
	// manyColumns begins a packet that has a number of columns in eight bytes.
	manyColumns, manySize = 0xfe, 9
	// After these flags of the client, what is sent is no longer packets.
	compressFlag, tlsFlag = 1 << 5, 1 << 11
)

var errColumns = errors.New("the server announces more columns than a table can have")

// dialBounded dials. loggedIn becomes true when the driver has connected.
func dialBounded(loggedIn *atomic.Bool) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &bounded{socket: conn.(socket), loggedIn: loggedIn}, nil
	}
}

func (c *bounded) Write(b []byte) (int, error) {
	if !c.loggedIn.Load() && len(b) >= headerSize+4 && b[3] == 1 && binary.LittleEndian.Uint32(b[headerSize:])&(compressFlag|tlsFlag) != 0 {
		c.opaque = true
	}
	return c.socket.Write(b)
}

func (c *bounded) Read(b []byte) (int, error) {
	n, err := c.socket.Read(b)
	for rest := b[:n]; len(rest) > 0 && !c.opaque; {
		if c.body > 0 {
			if c.first && rest[0] == manyColumns && c.size >= manySize && c.size < longest && c.loggedIn.Load() {
				return 0, errColumns
			}
			c.first = false
			done := min(c.body, len(rest))
			c.body, rest = c.body-done, rest[done:]
			continue
		}
		missing := min(headerSize-len(c.header), len(rest))
		c.header, rest = append(c.header, rest[:missing]...), rest[missing:]
		if len(c.header) == headerSize {
			c.first = c.size < longest
			c.size = int(c.header[0]) | int(c.header[1])<<8 | int(c.header[2])<<16
			c.body, c.header = c.size, c.header[:0]
		}
	}
	return n, err
}
