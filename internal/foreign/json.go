// SPDX-License-Identifier: Apache-2.0

package foreign

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// maxDepth is how deep values of a document may be nested.
const maxDepth = 50

// CheckJSON returns an error unless data is one JSON document that names no key of an
// object twice and has at most so many values: when a list of objects is decoded, two bytes
// of text become hundreds in memory.
func CheckJSON(data []byte, values int) error {
	d := jsontext.NewDecoder(bytes.NewReader(data)) // which refuses names that occur twice
	for n := 0; ; n++ {
		_, err := d.ReadToken()
		switch {
		case errors.Is(err, io.EOF) && n > 0:
			return nil
		case err != nil:
			return fmt.Errorf("not a JSON document: %w", err)
		case n > 0 && d.StackDepth() == 0 && d.PeekKind() != 0:
			return errors.New("not a JSON document: there is more after its end")
		case n >= values:
			return fmt.Errorf("more than %d values", values)
		case d.StackDepth() > maxDepth:
			return fmt.Errorf("values are nested more than %d deep", maxDepth)
		}
	}
}

// DecodeJSON decodes a document that CheckJSON accepts, and that has no keys that into does
// not have. A key that differs in case is another key, as it is for every other reader.
func DecodeJSON(data []byte, values int, into any) error {
	if err := CheckJSON(data, values); err != nil {
		return err
	}
	return json.Unmarshal(data, into, jsonv1.DefaultOptionsV1(), json.MatchCaseInsensitiveNames(false), json.RejectUnknownMembers(true))
}
