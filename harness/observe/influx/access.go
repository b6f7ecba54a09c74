package influx

// Access names a server as the environment does.
type Access struct {
	URL   string // empty: none
	Token string // user:password of InfluxDB 1, or a token of 2 and 3
}

// Server is nil where no address is named.
func (a Access) Server() (*Server, error) {
	if a.URL == "" {
		return nil, nil //nolint:nilnil // no server is a choice, not an error
	}
	return NewServer(a.URL, a.Token)
}
