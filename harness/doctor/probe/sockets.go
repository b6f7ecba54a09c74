package probe

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net"
	"strings"
)

// States in /proc/net/tcp (include/net/tcp_states.h) in which a connection
// holds its local port.
const (
	tcpEstablished = "01"
	tcpTimeWait    = "06"
)

// taken counts connections from here to one of the addresses that hold a local
// port. What cannot be read counts as none.
func taken(root fs.FS, ips []net.IP, port int) (n int) {
	wanted := map[string]bool{}
	for _, ip := range ips {
		end := fmt.Sprintf(":%04X", port)
		if v4 := ip.To4(); v4 != nil {
			wanted[kernelHex(v4)+end] = true
		}
		wanted[kernelHex(ip.To16())+end] = true // IPv4 over an IPv6 socket too
	}
	for _, name := range []string{"proc/net/tcp", "proc/net/tcp6"} {
		text, _ := fs.ReadFile(root, name)
		for line := range strings.Lines(string(text)) {
			// sl, local_address, rem_address, st, ...
			fields := strings.Fields(line)
			if len(fields) > 3 && wanted[fields[2]] && (fields[3] == tcpEstablished || fields[3] == tcpTimeWait) {
				n++
			}
		}
	}
	return n
}

// kernelHex writes an address as the kernel does: words of four bytes in the
// machine's own order.
func kernelHex(ip net.IP) string {
	swapped := make([]byte, len(ip))
	for i := 0; i+4 <= len(ip); i += 4 {
		binary.NativeEndian.PutUint32(swapped[i:], binary.BigEndian.Uint32(ip[i:]))
	}
	return strings.ToUpper(hex.EncodeToString(swapped))
}
