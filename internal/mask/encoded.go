// SPDX-License-Identifier: Apache-2.0

package mask

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
)

// encoding is a way to write bytes in an alphabet, in which a character holds some bits.
type encoding struct {
	bits   int
	per    int // characters from which on an encoding may begin anew
	value  func(c byte) (same byte, ok bool)
	decode func(to, from []byte) (int, error)
}

var alphabets = []encoding{
	{6, 4, inBase64, base64.RawStdEncoding.Decode},
	{4, 2, func(c byte) (byte, bool) { return c, isHexadecimal(c) }, hex.Decode},
}

func isHexadecimal(c byte) bool { return strings.IndexByte("0123456789abcdefABCDEF", c) >= 0 }

// inBase64 is the character in the standard's alphabet: that for URLs differs in two.
func inBase64(c byte) (same byte, ok bool) {
	switch {
	case c == '-':
		return '+', true
	case c == '_':
		return '/', true
	}
	return c, c == '+' || c == '/' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// run is a part of a text in the alphabet of an encoding.
type run struct {
	characters []byte
	places     []span // place of each character in the text, where it may be escaped
}

// encoded are the parts of a text that are secret once it is decoded, which it may be that
// often. An encoding begins at any place: what is before it may be of the same alphabet.
func (d *decoder) encoded(m *matcher, depth int) (all []span) {
	for _, e := range alphabets {
		var r run
		for at := 0; at <= len(d.text); {
			place, c, ok := d.character(e, at)
			if ok {
				if c != '\n' {
					r.characters, r.places = append(r.characters, c), append(r.places, span{at, place})
				}
				at = place
				continue
			}
			if len(r.characters)*e.bits >= m.shortest*8 {
				for skipped := range e.per {
					all = append(all, r.secrets(m, e, skipped, depth-1)...)
				}
			}
			r.characters, r.places = r.characters[:0], r.places[:0]
			at++
		}
	}
	return all
}

// reads is a character in the standard's alphabet. Lines of one encoding are one run: their
// ends are all the same.
func (e encoding) reads(c byte) (same byte, ok bool) {
	if c == '\n' || c == '\r' {
		return '\n', true
	}
	return e.value(c)
}

// character is that of an encoding at a place in the text, and the place after it. It may be
// escaped.
func (d *decoder) character(e encoding, at int) (end int, c byte, ok bool) {
	if at == len(d.text) {
		return at, 0, false
	}
	if c, ok = e.reads(d.text[at]); ok {
		return at + 1, c, true
	}
	end = at
	if isOpen(d.text[at]) && mayMean(d.text, at, func(b byte) bool { _, ok := e.reads(b); return ok }) {
		for _, r := range d.readings(at, depth) {
			if same, ok := e.reads(r.text[0]); ok && r.end > end && len(r.text) == 1 {
				end, c = r.end, same
			}
		}
	}
	return end, c, end > at
}

// secrets are the parts of the text whose characters are those of a secret, if the encoding
// begins after some characters of the run.
func (r run) secrets(m *matcher, e encoding, skipped, depth int) (all []span) {
	characters := r.characters[min(skipped, len(r.characters)):]
	if whole := len(characters) / e.per * e.per; e.bits == 4 || len(characters) == whole+1 {
		characters = characters[:whole]
	}
	plain := make([]byte, len(characters)*e.bits/8)
	if _, err := e.decode(plain, characters); err != nil {
		return nil
	}
	for _, s := range m.spans(string(plain), depth) {
		first, last := skipped+s.from*8/e.bits, skipped+(s.to*8-1)/e.bits
		all = append(all, span{r.places[first].from, r.places[last].to})
	}
	return all
}
