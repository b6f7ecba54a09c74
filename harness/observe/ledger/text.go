package ledger

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// AppendText appends entries as lines of the hash in hex and the unix time in
// milliseconds: the form on the wire and in evidence/ledger/.
func AppendText(b []byte, entries []Entry) []byte {
	for _, e := range entries {
		b = hex.AppendEncode(b, e.Hash[:])
		b = append(b, ' ')
		b = strconv.AppendInt(b, e.Millis, 10)
		b = append(b, '\n')
	}
	return b
}

// ParseText reads what AppendText wrote.
func ParseText(r io.Reader) ([]Entry, error) {
	var entries []Entry
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		id, at, found := strings.Cut(lines.Text(), " ")
		var e Entry
		raw, err := hex.DecodeString(id)
		if err != nil || !found || len(raw) != len(e.Hash) {
			return nil, fmt.Errorf("parse ledger: line %d: not a hash and a time", n)
		}
		copy(e.Hash[:], raw)
		if e.Millis, err = strconv.ParseInt(at, 10, 64); err != nil {
			return nil, fmt.Errorf("parse ledger: line %d: time: %w", n, err)
		}
		entries = append(entries, e)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("parse ledger: %w", err)
	}
	return entries, nil
}
