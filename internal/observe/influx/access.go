package influx

import "os"

// Access holds the address of a server and its credentials.
type Access struct {
	URL   string // empty: none
	Token string // user:password of InfluxDB 1, or a token of 2 and 3
}

// FromEnvironment reads ASSAY_INFLUX_URL and ASSAY_INFLUX_TOKEN.
func FromEnvironment() Access {
	return Access{URL: os.Getenv("ASSAY_INFLUX_URL"), Token: os.Getenv("ASSAY_INFLUX_TOKEN")}
}

// Server returns nil if the URL is empty.
func (a Access) Server() (*Server, error) {
	if a.URL == "" {
		return nil, nil //nolint:nilnil // no server is a choice, not an error
	}
	return NewServer(a.URL, a.Token)
}
