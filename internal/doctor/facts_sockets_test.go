package doctor

import (
	"encoding/binary"
	"net"
	"path/filepath"
	"testing"

	"github.com/prometheus/procfs"
)

// procIn is a folder /proc with these files.
func procIn(t *testing.T, files map[string]string) string {
	t.Helper()
	return filepath.Join(tree(t, files), "proc")
}

func TestTaken(t *testing.T) {
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		t.Fatal("the table below is for a little-endian machine")
	}
	const header, rest = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n", " 00000000:00000000 00:00000000 00000000     0        0 1\n"
	proc := procIn(t, map[string]string{
		"proc/net/tcp": header +
			"   0: 0100007F:8D3E 0100007F:1F90 01" + rest + // to 127.0.0.1:8080, open
			"   1: 0100007F:8D40 0100007F:1F90 06" + rest + // just closed
			"   2: 0100007F:8D42 0100007F:1F90 08" + rest + // closing
			"   3: 0100007F:1F90 0100007F:8D3E 01" + rest + // the server's side
			"   4: 0100007F:8D44 0100007F:1F91 01" + rest + // another port
			"   5: 0100007F:8D46 0200007F:1F90 01" + rest, // another host
		"proc/net/tcp6": header +
			"   0: 0000000000000000FFFF00000100007F:8D48 0000000000000000FFFF00000100007F:1F90 01" + rest + // IPv4 in IPv6
			"   1: 00000000000000000000000001000000:8D4A 00000000000000000000000001000000:1F90 01" + rest, // ::1
	})
	ip4, ip6 := net.IPv4(127, 0, 0, 1), net.IPv6loopback
	for want, ips := range map[int][]net.IP{3: {ip4}, 1: {ip6}, 4: {ip4, ip6}, 0: {net.IPv4(10, 0, 0, 1)}} {
		if got := taken(proc, ips, 8080); got != want {
			t.Errorf("%v: %d, want %d", ips, got, want)
		}
	}
	for name, files := range map[string]map[string]string{"no table": nil, "a broken table": {"proc/net/tcp": header + "   6: cut\n"}} {
		if got := taken(procIn(t, files), []net.IP{ip4}, 8080); got != 0 {
			t.Errorf("%s: %d", name, got)
		}
	}
}

// A real connection is found in the kernel's table.
func TestTakenHere(t *testing.T) {
	address := listen(t, hang)
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	remote := conn.RemoteAddr().(*net.TCPAddr)
	if got := taken(procfs.DefaultMountPoint, []net.IP{remote.IP}, remote.Port); got != 1 {
		t.Errorf("%d connections to %s", got, address)
	}
}
