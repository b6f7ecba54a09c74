package stack

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"assay.dev/assay/internal/localstack"

	"assay.dev/assay/internal/servers/mysqld"
)

// Setup is the configuration of a stack that experiments change.
type Setup = localstack.Setup

// Ports of a stack.
type Ports = localstack.Ports

// Setup is the current configuration.
func (s *State) Setup() Setup {
	setup := Setup{
		Database: slices.Clone(s.Database.Args), Target: slices.Clone(s.Target.Args),
		Ports: Ports{Database: s.Database.Port, Target: s.Target.Port, Influx: s.Influx.Port},
	}
	if s.Cluster != nil {
		setup.Topology, setup.Proxy = s.Cluster.Topology, s.Cluster.Proxy != nil
	}
	return setup
}

// Restart restarts parts of the stack with another configuration on the same ports and
// data. If that fails they are down. A restart of the database must include the service,
// which does not survive it.
func Restart(ctx context.Context, o Options, to Setup, which Parts, log *slog.Logger) (*State, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx) // before a component is stopped
	}
	if err := Down(ctx, o.Dir, which); err != nil {
		// A component that had to be killed has ended too.
		s, _, unknown := Status(o.Dir)
		if unknown != nil || s != nil && (s.Target.Port != 0 || which.Database && s.Database.Port != 0) {
			return nil, err
		}
		log.Warn("restarting components that had to be killed", "err", err)
	}
	o.DBPort, o.TargetPort, o.InfluxPort = to.Ports.Database, to.Ports.Target, to.Ports.Influx
	o.DBArgs, o.TargetArgs = to.Database, to.Target
	o.Topology, o.Proxy = to.Topology, to.Proxy
	s, _, err := Up(ctx, o, log)
	return s, err
}

// AdminDSN is root's DSN of the running database, node a; only root may change global variables
// and read the binlog. It is a secret.
func AdminDSN(dir string) (string, error) {
	f, err := at(dir)
	if err != nil {
		return "", err
	}
	s, err := f.load()
	if err != nil {
		return "", err
	}
	a := f.database()
	if s != nil && s.Cluster != nil {
		a = f.node(s.Cluster.Topology, NodeA)
	}
	server, err := mysqld.Attach(a)
	if err != nil {
		return "", fmt.Errorf("connect to the local database: %w", err)
	}
	return server.DSN(), nil
}
