package databases

import (
	"fmt"
	"regexp"
	"strings"

	"assay.dev/assay/internal/hint"
)

// Node is a node of a cluster, or a way to it: a, b, proxy, ...
type Node struct {
	Name    string
	DSN     string // a secret
	Address string // host:port
}

var nodeName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,31}$`)

// ParseNodes reads the form of ASSAY_DB_NODES: NAME=DSN, separated by white space. Its
// errors name the position alone, as the text may hold passwords.
func ParseNodes(text string) (all []Node, err error) {
	seen := map[string]bool{}
	for i, word := range strings.Fields(text) {
		name, dsn, ok := strings.Cut(word, "=")
		wrong := func(what string) error {
			return hint.With(fmt.Errorf("entry %d %s", i+1, what), "like "+ExampleNodes())
		}
		if !ok || !nodeName.MatchString(name) {
			return nil, wrong("is not NAME=DSN")
		}
		parsed, err := Parse(dsn)
		if err != nil {
			return nil, wrong("has no valid DSN")
		}
		if seen[name] {
			return nil, wrong("has the name of an earlier one, " + name)
		}
		seen[name] = true
		all = append(all, Node{name, dsn, parsed.Address})
	}
	return all, nil
}

// ExampleNodes is an example for messages.
func ExampleNodes() string {
	return `"a=user:password@tcp(10.0.0.1:3306)/shop b=user:password@tcp(10.0.0.2:3306)/shop"`
}
