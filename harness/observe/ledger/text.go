package ledger

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
)

// AppendText appends a line for each entry, the hash in hex and the unix time in
// milliseconds: the format on the wire and in evidence/ledger/.
func AppendText(b []byte, entries []Entry) []byte {
	for _, e := range entries {
		b = hex.AppendEncode(b, e.Hash[:])
		b = append(b, ' ')
		b = strconv.AppendInt(b, e.Millis, 10)
		b = append(b, '\n')
	}
	return b
}

// ParseText parses the format of AppendText.
func ParseText(r io.Reader) (entries []Entry, err error) {
	if err := EachEntry(r, func(e Entry) { entries = append(entries, e) }); err != nil {
		return nil, err
	}
	return entries, nil
}

// EachEntry visits the entries of a text in the format of AppendText.
func EachEntry(r io.Reader, visit func(Entry)) error {
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		id, at, found := bytes.Cut(lines.Bytes(), []byte{' '})
		var e Entry
		if !found || len(id) != hex.EncodedLen(len(e.Hash)) {
			return fmt.Errorf("parse ledger: line %d: not a hash and a time", n)
		}
		if _, err := hex.Decode(e.Hash[:], id); err != nil {
			return fmt.Errorf("parse ledger: line %d: not a hash and a time", n)
		}
		var err error
		if e.Millis, err = strconv.ParseInt(string(at), 10, 64); err != nil {
			return fmt.Errorf("parse ledger: line %d: time: %w", n, err)
		}
		visit(e)
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("parse ledger: %w", err)
	}
	return nil
}
