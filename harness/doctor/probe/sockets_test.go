package probe

import (
	"encoding/binary"
	"net"
	"os"
	"testing"
	"testing/fstest"
)

func TestTaken(t *testing.T) {
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		t.Fatal("the table below is of a little-endian machine")
	}
	root := fstest.MapFS{
		"proc/net/tcp": &fstest.MapFile{Data: []byte("  sl  local_address rem_address   st tx_queue\n" +
			"   0: 0100007F:8D3E 0100007F:1F90 01 0:0\n" + // to 127.0.0.1:8080, open
			"   1: 0100007F:8D40 0100007F:1F90 06 0:0\n" + // closed a moment ago
			"   2: 0100007F:8D42 0100007F:1F90 08 0:0\n" + // closing
			"   3: 0100007F:1F90 0100007F:8D3E 01 0:0\n" + // from there
			"   4: 0100007F:8D44 0100007F:1F91 01 0:0\n" + // another port
			"   5: 0100007F:8D46 0200007F:1F90 01 0:0\n" + // another host
			"   6: cut\n")},
		"proc/net/tcp6": &fstest.MapFile{Data: []byte("  sl  local_address rem_address   st\n" +
			"   0: 0000000000000000FFFF00000100007F:8D48 0000000000000000FFFF00000100007F:1F90 01\n" + // IPv4 in IPv6
			"   1: 00000000000000000000000001000000:8D4A 00000000000000000000000001000000:1F90 01\n")}, // ::1
	}
	ip4, ip6 := net.IPv4(127, 0, 0, 1), net.IPv6loopback
	for want, ips := range map[int][]net.IP{3: {ip4}, 1: {ip6}, 4: {ip4, ip6}, 0: {net.IPv4(10, 0, 0, 1)}} {
		if got := taken(root, ips, 8080); got != want {
			t.Errorf("%v: %d, want %d", ips, got, want)
		}
	}
	if got := taken(fstest.MapFS{}, []net.IP{ip4}, 8080); got != 0 {
		t.Errorf("nothing to read: %d", got)
	}
}

// The kernel's own table is read: a connection is seen in it.
func TestTakenHere(t *testing.T) {
	address := listen(t, hang)
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	remote := conn.RemoteAddr().(*net.TCPAddr)
	if got := taken(os.DirFS("/"), []net.IP{remote.IP}, remote.Port); got != 1 {
		t.Errorf("%d connections to %s", got, address)
	}
}
