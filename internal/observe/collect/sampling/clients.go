package sampling

import "strings"

// MaxClients bounds the values of the label client; later ones become Other. Known values
// are never evicted.
const MaxClients = 8

// Client identifies a program that uses the database, as far as the server knows it.
// Empty fields are not known.
type Client struct {
	User, Host string // host without the port
	Schema     string
	Program    string
	Process    string // id on its host
}

// Label names the client, like "batch@10.0.0.7 (warehouse, mysql, process 4711)".
func (c Client) Label() string {
	name := c.User
	if c.Host != "" {
		name += "@" + c.Host
	}
	var more []string
	for _, s := range []string{c.Schema, c.Program} {
		if s != "" {
			more = append(more, s)
		}
	}
	if c.Process != "" {
		more = append(more, "process "+c.Process)
	}
	if len(more) > 0 {
		name += " (" + strings.Join(more, ", ") + ")"
	}
	return Shorten(name)
}

// Clients bounds the distinct values of the label client over a run.
type Clients map[string]struct{}

// Label returns the client's label, or Other once there are too many.
func (c Clients) Label(of Client) string {
	label := of.Label()
	if _, ok := c[label]; !ok {
		if len(c) >= MaxClients {
			return Other
		}
		c[label] = struct{}{}
	}
	return label
}
