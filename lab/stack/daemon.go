package stack

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"assay.dev/assay/internal/servers/process"
	"assay.dev/assay/internal/servers/statefile"
)

// daemonPatience is how long a small process may take to end before it is killed.
const daemonPatience = 5 * time.Second

// daemon is a small process beside the servers: Galera's arbitrator, the health endpoint,
// HAProxy. Its file identifies it, so that it is found even if the state was lost.
type daemon struct{ name, file, log string }

func (f folder) daemon(name string) daemon {
	return daemon{name, filepath.Join(f.dir, name+".json"), filepath.Join(f.logs(), name+".log")}
}

func (f folder) arbitrator() daemon {
	d := f.daemon("garbd")
	d.name = "arbitrator"
	return d
}

func (f folder) health() daemon { return f.daemon("health") }
func (f folder) proxy() daemon  { return f.daemon("haproxy") }

// daemons are all, in the order in which they are stopped.
func (f folder) daemons() []daemon { return []daemon{f.proxy(), f.health(), f.arbitrator()} }

// identity identifies the process; zero if none was started.
func (d daemon) identity() process.Identity {
	var id process.Identity
	if statefile.Read(d.file, &id) != nil {
		return process.Identity{}
	}
	return id
}

func (d daemon) alive() bool { return d.identity().Alive() }

// start starts the process, under a group id of its own unless that is 0.
func (d daemon) start(cmd *exec.Cmd, group uint32) (*process.Child, error) {
	log, err := process.OpenLog(d.log)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", d.name, err)
	}
	defer func() { _ = log.Close() }()
	cmd.Stdout, cmd.Stderr = log.File, log.File
	process.SetGroup(cmd, group)
	child, err := process.Start(cmd, process.Detached)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", d.name, err)
	}
	if err := statefile.Write(d.file, child.Identity); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", d.name, err), child.Kill())
	}
	return child, nil
}

// end ends the process, if it runs.
func (d daemon) end(how func(process.Identity) error) error {
	id := d.identity()
	if err := how(id); err != nil && id.Alive() {
		return fmt.Errorf("stop %s: %w", d.name, err)
	}
	if err := os.Remove(d.file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("stop %s: %w", d.name, err)
	}
	return nil
}

func (d daemon) stop() error {
	return d.end(func(id process.Identity) error { return id.Stop(daemonPatience) })
}
