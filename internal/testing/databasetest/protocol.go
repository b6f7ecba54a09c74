package databasetest

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // the server's protocol
	"encoding/binary"
	"errors"
	"io"
)

// The part of the MySQL protocol that the proxies need: packets, the greeting of
// version 10 and the login of protocol 4.1.

type packet struct {
	sequence byte
	body     []byte
}

func readPacket(r io.Reader) (packet, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return packet{}, err
	}
	body := make([]byte, int(head[0])|int(head[1])<<8|int(head[2])<<16)
	_, err := io.ReadFull(r, body)
	return packet{head[3], body}, err
}

func writePacket(w io.Writer, p packet) error {
	n := len(p.body)
	_, err := w.Write(append([]byte{byte(n), byte(n >> 8), byte(n >> 16), p.sequence}, p.body...))
	return err
}

const (
	clientSSL        = 1 << 11
	clientPluginAuth = 1 << 19
	clientLenEnc     = 1 << 21
	nativePassword   = "mysql_native_password"
)

// accessDenied is ER_ACCESS_DENIED_ERROR.
var accessDenied = append([]byte{0xff, 0x15, 0x04}, "#28000Access denied for user"...)

// parseGreeting returns the greeting with TLS among its capabilities, and the salt
// for the password.
func parseGreeting(body []byte) (hello, salt []byte, err error) {
	end := bytes.IndexByte(body, 0)
	at := end + 1 + 4 // after the version and the connection id
	if end < 0 || len(body) < at+8+1+2+1+2+2+1+10+12 {
		return nil, nil, errors.New("the server's greeting is too short")
	}
	hello = bytes.Clone(body)
	salt = append(bytes.Clone(body[at:at+8]), body[at+8+1+2+1+2+2+1+10:][:12]...)
	low := hello[at+9 : at+11]
	binary.LittleEndian.PutUint16(low, binary.LittleEndian.Uint16(low)|clientSSL)
	return hello, salt, nil
}

// userOf is the user of a login.
func userOf(login []byte) string {
	if len(login) < 33 {
		return ""
	}
	name, _, _ := bytes.Cut(login[32:], []byte{0})
	return string(name)
}

func trimNull(b []byte) []byte { return bytes.TrimRight(b, "\x00") }

// loginAs is the client's login with another user and password, without TLS and
// without the fields after the schema.
func loginAs(login []byte, as Backend, salt []byte) []byte {
	flags := binary.LittleEndian.Uint32(login)
	const connectAttrs, withDB = 1 << 20, 1 << 3
	out := binary.LittleEndian.AppendUint32(nil, flags&^uint32(clientSSL|connectAttrs|clientLenEnc)|clientPluginAuth)
	out = append(out, login[4:32]...)
	out = append(append(out, as.User...), 0)
	scramble := native(as.Password, salt)
	out = append(append(out, byte(len(scramble))), scramble...)
	if flags&withDB != 0 {
		rest := login[32+len(userOf(login))+1:]
		rest = rest[1+int(rest[0]):] // the client's authentication response, whose length fits a byte
		schema, _, _ := bytes.Cut(rest, []byte{0})
		out = append(append(out, schema...), 0)
	}
	return append(out, nativePassword+"\x00"...)
}

// native is SHA1(password) XOR SHA1(salt + SHA1(SHA1(password))).
func native(password string, salt []byte) []byte {
	one := sha1.Sum([]byte(password))          //nolint:gosec // the server's protocol
	two := sha1.Sum(one[:])                    //nolint:gosec // likewise
	mixed := sha1.Sum(append(salt, two[:]...)) //nolint:gosec // likewise
	for i := range mixed {
		mixed[i] ^= one[i]
	}
	return mixed[:]
}
