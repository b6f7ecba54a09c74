package databasetest

import (
	"net"
	"testing"
)

// Session is the number of each session of a MySQLServer.
const Session = "7"

// MySQLServer greets as a MySQL server of this version does, accepts every login, and sends to each command,
// a statement or the preparation of one with its text, what answer returns. nil: OK. It
// returns its address.
func MySQLServer(t testing.TB, version string, answer func(text string) [][]byte) string {
	t.Helper()
	addr, _ := accept(t, func(conn net.Conn) {
		greeting := "\x0a" + version + "\x00\x07\x00\x00\x00abcdefgh\x00\xff\xf7\x2d\x02\x00\x0f\x00\x15" + "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" + "ijklmnopqrst\x00" + nativePassword + "\x00"
		if writePacket(conn, packet{0, []byte(greeting)}) != nil {
			return
		}
		login, err := readPacket(conn)
		if err != nil || writePacket(conn, packet{login.sequence + 1, ok}) != nil {
			return
		}
		for {
			p, err := readPacket(conn)
			if err != nil || len(p.body) == 0 {
				return
			}
			packets := answer(string(p.body[1:]))
			if packets == nil {
				packets = [][]byte{ok}
			}
			for i, body := range packets {
				if writePacket(conn, packet{byte(i + 1), body}) != nil {
					return
				}
			}
		}
	})
	return addr
}

var (
	ok  = []byte{0, 0, 0, 2, 0, 0, 0}
	eof = []byte{0xfe, 0, 0, 2, 0}
)

// Columns begins an answer with rows, whose columns have these types of the protocol.
func Columns(types ...byte) [][]byte {
	packets := [][]byte{{byte(len(types))}}
	for _, kind := range types {
		packets = append(packets, []byte{3, 'd', 'e', 'f', 0, 0, 0, 1, 'c', 0, 12, 0x2d, 0, 0xff, 0, 0, 0, kind, 0, 0, 0, 0, 0})
	}
	return append(packets, eof)
}

// Row is one row of an answer.
func Row(values ...string) (body []byte) {
	for _, v := range values {
		body = append(append(body, byte(len(v))), v...)
	}
	return body
}

// Text is an answer of one row of texts.
func Text(values ...string) [][]byte {
	const varString = 0xfd
	types := make([]byte, len(values))
	for i := range types {
		types[i] = varString
	}
	return append(Columns(types...), Row(values...), eof)
}
