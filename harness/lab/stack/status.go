package stack

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"assay/harness/servers/mysqld"
)

// Condition is the state of a component.
type Condition string

// The conditions of a component.
const (
	IsUp      Condition = "up"
	IsSilent  Condition = "not answering" // it runs, and may be starting or overloaded
	IsCrashed Condition = "crashed"       // it ended without a Down
	IsDown    Condition = "down"
)

// Process is the status of a component, without secrets.
type Process struct {
	Name      string    `json:"name"` // "database", "target", "influxdb"
	Condition Condition `json:"condition"`
	PID       int       `json:"pid,omitempty"`
	Port      int       `json:"port,omitempty"`
	What      string    `json:"what,omitempty"` // such as "mysql 9.7.4", or a URL
	Log       string    `json:"log"`
}

// statusPatience bounds the health check of each component.
const statusPatience = 2 * time.Second

// Status returns the state of the stack, nil if there was none yet, and the status of
// its components. It takes no lock, and so does not wait for another command.
func Status(dir string) (*State, []Process, error) {
	f, err := at(dir)
	if err != nil {
		return nil, nil, err
	}
	s, err := f.load()
	if err != nil {
		return nil, nil, err
	}
	known := s
	if known == nil {
		known = &State{}
	}
	return s, []Process{databaseStatus(f, known), targetStatus(f, known), influxStatus(f, known)}, nil
}

func databaseStatus(f folder, s *State) Process {
	p := Process{Name: "database", Condition: IsDown, Log: mysqld.LogFile(f.database())}
	server, err := mysqld.Attach(f.database())
	if err != nil {
		if db := s.Database; db.Port != 0 {
			p.Condition, p.PID, p.Port = IsCrashed, db.Process.PID, db.Port
			p.What = fmt.Sprintf("%s %s", db.Binary.Flavour, db.Binary.Version)
		}
		return p
	}
	p.Condition, p.PID, p.Port = IsSilent, server.Pid(), server.Port()
	p.What = fmt.Sprintf("%s %s", server.Binary().Flavour, server.Binary().Version)
	ctx, cancel := context.WithTimeout(context.Background(), statusPatience)
	defer cancel()
	if server.Ping(ctx) == nil {
		p.Condition = IsUp
	}
	return p
}

func targetStatus(f folder, s *State) Process {
	p := Process{Name: "target", Condition: IsDown, Log: f.targetLog()}
	if s.Target.Port == 0 {
		return p
	}
	p.PID, p.Port, p.What = s.Target.Process.PID, s.Target.Port, s.TargetURL()
	if !s.Target.Process.Alive() {
		p.Condition = IsCrashed
		return p
	}
	p.Condition = IsSilent
	ctx, cancel := context.WithTimeout(context.Background(), statusPatience)
	defer cancel()
	if healthy(ctx, s.TargetURL()) == nil {
		p.Condition = IsUp
	}
	return p
}

// WriteStatus writes a line for each component.
func WriteStatus(w io.Writer, dir string) error {
	_, processes, err := Status(dir)
	if err != nil {
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, p := range processes {
		pid := ""
		if p.PID > 0 {
			pid = fmt.Sprintf("pid %d", p.PID)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", p.Name, p.Condition, p.What, pid, p.Log)
	}
	return t.Flush()
}
