// SPDX-License-Identifier: Apache-2.0

package database

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Row is a row of a ledger's query.
type Row struct {
	ID Identity
	At time.Time // zero: the row has no time, or none that is an instant
}

// Identity is an identity as its column holds it.
type Identity struct {
	Kind Kind
	Text string // bytes, if it is Binary
}

// Kind is what a column holds.
type Kind int

// The kinds.
const (
	Null Kind = iota
	Text
	Number
	Binary
)

// identityOf is an identity that the driver returns, of a column of this type.
func identityOf(v any, column string) Identity {
	text := ""
	switch v := v.(type) {
	case nil:
		return Identity{}
	case []byte:
		text = string(v)
	case string:
		text = v
	case float32:
		return Identity{Number, strconv.FormatFloat(float64(v), 'f', -1, 32)}
	case float64:
		return Identity{Number, strconv.FormatFloat(v, 'f', -1, 64)} // and not 1.2e+06
	case int64, uint64:
		return Identity{Number, fmt.Sprint(v)}
	case time.Time:
		text = v.Format(time.RFC3339Nano)
	default:
		text = fmt.Sprint(v)
	}
	switch column {
	case "BINARY", "VARBINARY", "TINYBLOB", "BLOB", "MEDIUMBLOB", "LONGBLOB", "BYTEA":
		return Identity{Binary, text}
	case "CHAR", "BPCHAR": // which some servers pad
		return Identity{Text, strings.TrimRight(text, " ")}
	case "JSON", "JSONB":
		var unquoted string
		if json.Unmarshal([]byte(text), &unquoted) == nil {
			text = unquoted
		}
	case "DECIMAL", "NUMERIC":
		return Identity{Number, text}
	}
	if strings.HasSuffix(column, "INT") { // of a query without arguments, whose result is text
		return Identity{Number, text}
	}
	return Identity{Text, text}
}
