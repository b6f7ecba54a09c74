package host

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// SocketState is the state of a TCP socket, as Linux numbers it (net/tcp_states.h).
type SocketState uint8

// The states that are asked for.
const (
	Established SocketState = 1
	TimeWait    SocketState = 6
	listening   SocketState = 10
)

// Socket is a TCP socket of this machine.
type Socket struct {
	Local, Remote netip.AddrPort // an IPv4 address is never written as one of IPv6
	State         SocketState
	inode         string
}

// Sockets reads the TCP sockets of the network namespace of this process from the folder
// /proc, or from a copy.
func Sockets(proc string) (all []Socket, err error) {
	for _, table := range []string{"tcp", "tcp6"} {
		text, failed := os.ReadFile(filepath.Join(proc, "net", table))
		err = errors.Join(err, failed) // a kernel without IPv6 has one table
		for line := range strings.Lines(string(text)) {
			// sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode
			f := strings.Fields(line)
			if len(f) < 10 {
				continue
			}
			local, ok1 := endpoint(f[1])
			remote, ok2 := endpoint(f[2])
			state, bad := strconv.ParseUint(f[3], 16, 8)
			if ok1 && ok2 && bad == nil {
				all = append(all, Socket{local, remote, SocketState(state), f[9]})
			}
		}
	}
	return all, err
}

// endpoint reads ADDRESS:PORT in hexadecimal digits. The address is in words of four
// bytes, each in the byte order of the machine.
func endpoint(text string) (netip.AddrPort, bool) {
	address, port, _ := strings.Cut(text, ":")
	b, err := hex.DecodeString(address)
	n, failed := strconv.ParseUint(port, 16, 16)
	if err != nil || failed != nil || len(b)%4 != 0 {
		return netip.AddrPort{}, false
	}
	for word := b; len(word) > 0; word = word[4:] {
		binary.BigEndian.PutUint32(word, binary.NativeEndian.Uint32(word))
	}
	ip, ok := netip.AddrFromSlice(b)
	return netip.AddrPortFrom(ip.Unmap(), uint16(n)), ok
}
