package process

import (
	"os"
	"slices"
	"strings"
)

// Environment is the environment of a server: variables of the system that every
// program may need, and extra ones. Nothing else is inherited, as it could change the
// server's options (MYSQL_*, PG*, INFLUXDB_*) or be a secret (ASSAY_*).
func Environment(extra ...string) []string {
	var env []string
	for _, name := range []string{"PATH", "HOME", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return append(env, extra...) // the last value of a name counts
}

// WithoutSecrets is the environment of this process without Assay's variables, some of
// which are secrets: for commands that the user names.
func WithoutSecrets() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "ASSAY_") })
}
