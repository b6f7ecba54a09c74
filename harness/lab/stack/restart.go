package stack

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"assay/harness/servers/mysqld"
)

// Setup is how the parts of a stack that can be set up in several ways are run.
type Setup struct {
	Database []string `json:"database"` // options of the server beside our own
	Target   []string `json:"target"`   // arguments of the reference service
	Ports    Ports    `json:"ports"`
}

// Ports are those of a stack.
type Ports struct {
	Database int `json:"database"`
	Target   int `json:"target"`
	Influx   int `json:"influx"`
}

// Setup is how the stack is run.
func (s *State) Setup() Setup {
	return Setup{
		Database: slices.Clone(s.Database.Args), Target: slices.Clone(s.Target.Args),
		Ports: Ports{s.Database.Port, s.Target.Port, s.Influx.Port},
	}
}

// Restart starts the service anew, and the database too where it is named, in
// another way: on the same ports and data. Where that fails they are down. The
// service is stopped first in any case: it would not survive its database.
func Restart(ctx context.Context, o Options, to Setup, database bool, log *slog.Logger) (*State, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx) // before anything is stopped
	}
	if err := Down(ctx, o.Dir, Parts{Target: true, Database: database}); err != nil {
		// One that had to be killed is gone all the same.
		s, _, unknown := Status(o.Dir)
		if unknown != nil || s != nil && (s.Target.Port != 0 || database && s.Database.Port != 0) {
			return nil, err
		}
		log.Warn("stack starts anew what did not stop in order", "err", err)
	}
	o.DBPort, o.TargetPort, o.InfluxPort = to.Ports.Database, to.Ports.Target, to.Ports.Influx
	o.DBArgs, o.TargetArgs = to.Database, to.Target
	s, _, err := Up(ctx, o, log)
	return s, err
}

// AdminDSN is root's of the database that runs, who alone may change global
// variables and read the binlog. It is a secret.
func AdminDSN(dir string) (string, error) {
	f, err := at(dir)
	if err != nil {
		return "", err
	}
	server, err := mysqld.Attach(f.database())
	if err != nil {
		return "", fmt.Errorf("reach the local database: %w", err)
	}
	return server.DSN(), nil
}
