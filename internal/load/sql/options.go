package sql

import (
	"fmt"
	"slices"
	"time"

	"github.com/grafana/sobek"
)

// defaultTimeout bounds opening a connection, and each statement: a node that was cut off
// answers neither.
const defaultTimeout = 10 * time.Second

// options are those of open and pool.
type options struct {
	schema  string // instead of the DSN's; empty: the DSN's
	timeout time.Duration
	tags    map[string]string // of all samples
	max     int               // connections of a pool
}

// readOptions reads the object that a script passes; keys are the known ones.
func readOptions(given sobek.Value, keys ...string) (options, error) {
	o := options{timeout: defaultTimeout, max: 10}
	if given == nil || sobek.IsUndefined(given) || sobek.IsNull(given) {
		return o, nil
	}
	all, ok := given.Export().(map[string]any)
	if !ok {
		return o, fmt.Errorf("options are no object but %v", given)
	}
	for key, value := range all {
		if !slices.Contains(keys, key) {
			return o, fmt.Errorf("unknown option %q, there are %q", key, keys)
		}
		var err error
		valid := true
		switch key {
		case "schema":
			o.schema, valid = value.(string)
		case "timeout":
			var text string
			text, valid = value.(string)
			if o.timeout, err = time.ParseDuration(text); valid && err == nil && o.timeout <= 0 {
				valid = false
			}
		case "max":
			var n int64
			n, valid = value.(int64)
			o.max, valid = int(n), valid && n > 0
		case "tags":
			var tags map[string]any
			tags, valid = value.(map[string]any)
			o.tags = map[string]string{}
			for k, v := range tags {
				o.tags[k] = fmt.Sprint(v)
			}
		}
		if err != nil || !valid {
			return o, fmt.Errorf("option %s: not valid: %v", key, value)
		}
	}
	return o, nil
}
