// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"

	"assay.dev/assay/internal/foreign"
)

// AppendText appends a line for each entry, the hash in hex, the unix time in
// milliseconds, and the number of a flow other than 0: the format on the wire and, below a line for each batch, in
// evidence/ledger/.
func AppendText(b []byte, entries []Entry) []byte {
	for _, e := range entries {
		b = hex.AppendEncode(b, e.Hash[:])
		b = append(b, ' ')
		b = strconv.AppendInt(b, e.Millis, 10)
		if e.Flow > 0 {
			b = append(b, ' ')
			b = strconv.AppendInt(b, int64(e.Flow), 10)
		}
		b = append(b, '\n')
	}
	return b
}

// AppendBatch appends a line with the number of a batch and its source, like
// "# 17 worker/0", and the batch's entries.
func AppendBatch(b []byte, source string, number uint64, entries []Entry) ([]byte, error) {
	if strings.ContainsFunc(source, unicode.IsControl) {
		return b, fmt.Errorf("source %q has a control character", source)
	}
	b = append(b, '#', ' ')
	b = strconv.AppendUint(b, number, 10)
	b = append(b, ' ')
	b = append(b, source...)
	b = append(b, '\n')
	return AppendText(b, entries), nil
}

// ParseText parses the format of AppendText.
func ParseText(r io.Reader) (entries []Entry, err error) {
	err = EachEntry(r, func(e Entry) error { entries = append(entries, e); return nil })
	if err != nil {
		return nil, err
	}
	return entries, nil
}

// EachEntry visits the entries of a text in the format of AppendText or AppendBatch.
func EachEntry(r io.Reader, visit func(Entry) error) error {
	return eachLine(r, func(line []byte) error {
		if line[0] == '#' {
			return nil
		}
		e, err := parseEntry(line)
		if err != nil {
			return err
		}
		return visit(e)
	})
}

// EachBatch visits the source and the number of each batch of a text in the format of
// AppendBatch, and checks the entries.
func EachBatch(r io.Reader, visit func(source string, number uint64) error) error {
	return eachLine(r, func(line []byte) error {
		batch, found := bytes.CutPrefix(line, []byte("# "))
		if !found {
			_, err := parseEntry(line)
			return err
		}
		digits, source, found := strings.Cut(string(batch), " ")
		number, err := strconv.ParseUint(digits, 10, 64)
		if err != nil || !found {
			return errors.New("not the number and source of a batch")
		}
		return visit(source, number)
	})
}

// eachLine visits the lines of a text; an empty one is an error.
func eachLine(r io.Reader, visit func(line []byte) error) (err error) {
	defer foreign.Guard(&err)
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		err := errNotEntry
		if len(lines.Bytes()) > 0 {
			err = visit(lines.Bytes())
		}
		if err != nil {
			return fmt.Errorf("parse ledger: line %d: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("parse ledger: %w", err)
	}
	return nil
}

var errNotEntry = errors.New("not a hash and a time")

func parseEntry(line []byte) (e Entry, err error) {
	id, at, found := bytes.Cut(line, []byte{' '})
	if !found || len(id) != hex.EncodedLen(len(e.Hash)) {
		return e, errNotEntry
	}
	if _, err := hex.Decode(e.Hash[:], id); err != nil {
		return e, errNotEntry
	}
	at, flow, ofFlow := bytes.Cut(at, []byte{' '})
	if ofFlow {
		if e.Flow, err = strconv.Atoi(string(flow)); err != nil || e.Flow < 1 || e.Flow >= MaxFlows {
			return e, errors.New("not the number of a flow")
		}
	}
	if e.Millis, err = strconv.ParseInt(string(at), 10, 64); err != nil {
		return e, fmt.Errorf("time: %w", err)
	}
	return e, nil
}
