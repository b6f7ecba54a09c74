package stack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"assay.dev/assay/internal/servers/influxd"
	"assay.dev/assay/internal/servers/process"
)

// ensureInflux ensures that InfluxDB runs, if it is installed. As it only holds views of
// runs, an error fails Up only if its program was named.
func (u *startup) ensureInflux(ctx context.Context) error {
	err := u.runInflux(ctx)
	if err != nil && !u.influxNamed() && ctx.Err() == nil {
		u.log.Warn("no InfluxDB: running runs cannot be watched", "error", err)
		return nil
	}
	return err
}

func (u *startup) influxNamed() bool {
	return u.options.Influxd != "" || os.Getenv(influxd.BinaryEnv) != ""
}

func (u *startup) runInflux(ctx context.Context) error {
	// Not from the state file: it may have been lost, or never written.
	server, err := influxd.Attach(u.folder.influx())
	if err != nil || !server.Process.Alive() {
		if server, err = u.startInflux(ctx); err != nil || server == nil {
			return err
		}
	}
	u.state.Influx = Influx{Process: server.Process, Port: server.Port, Binary: server.Binary, Password: Secret(server.Password)}
	return u.save(u.state)
}

// startInflux returns nil without an error if InfluxDB is not installed.
func (u *startup) startInflux(ctx context.Context) (*influxd.Server, error) {
	binary, err := u.influxd()
	if err != nil {
		return nil, err
	}
	if binary == "" {
		u.log.Info("no InfluxDB: influxd is not installed")
		return nil, nil
	}
	server, err := influxd.Start(ctx, influxd.Options{
		Dir: u.folder.influx(), Port: u.options.InfluxPort, Binary: binary, Life: process.Detached,
	})
	if err != nil {
		return nil, err
	}
	u.parts.Influx = true
	u.stops = append(u.stops, func() error {
		u.state.Influx.Process = process.Identity{}
		return server.Stop()
	})
	u.log.Info("InfluxDB is up", "port", server.Port, "pid", server.Process.PID)
	return server, nil
}

// influxd returns the program to run: the one that was named, is installed, or was used
// before; "" if there is none.
func (u *startup) influxd() (string, error) {
	if u.options.Influxd != "" {
		return influxd.Probe(u.options.Influxd)
	}
	path, err := influxd.Find()
	if before := u.state.Influx.Binary; path == "" && err == nil && before != "" {
		if path, err = influxd.Probe(before); errors.Is(err, fs.ErrNotExist) {
			return "", nil
		}
	}
	return path, err
}

// checkInfluxPort checks the port before the database is started, which takes seconds.
func (u *startup) checkInfluxPort() error {
	if server, err := influxd.Attach(u.folder.influx()); err == nil && server.Process.Alive() {
		return nil
	}
	if !u.influxNamed() {
		return nil
	}
	if _, err := u.influxd(); err != nil {
		return err
	}
	if err := process.CheckPort(u.options.InfluxPort); err != nil {
		return fmt.Errorf("start InfluxDB: %w", err)
	}
	return nil
}

func stopInflux(f folder, s *State) error {
	server, err := influxd.Attach(f.influx())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = server.Stop()
	}
	if err != nil {
		err = fmt.Errorf("stop InfluxDB: %w", err)
	}
	if s != nil && (server == nil || !server.Process.Alive()) {
		s.Influx.Process = process.Identity{}
	}
	return err
}

// InfluxName is InfluxDB's name among a stack's processes.
const InfluxName = "influxdb"

func influxStatus(f folder, s *State) Process {
	p := Process{Name: InfluxName, Condition: IsDown, Log: influxd.LogFile(f.influx())}
	server, err := influxd.Attach(f.influx())
	switch {
	case err != nil:
		return p
	case server.Process.Alive():
		p.Condition = IsSilent
	case s.Influx.Process == server.Process:
		p.Condition = IsCrashed
	default:
		return p
	}
	p.PID, p.Port, p.What = server.Process.PID, server.Port, server.URL()
	ctx, cancel := context.WithTimeout(context.Background(), statusPatience)
	defer cancel()
	if p.Condition == IsSilent && server.Ping(ctx) == nil {
		p.Condition = IsUp
	}
	return p
}

// InfluxURL is the base URL of InfluxDB; "" if it is down.
func (s *State) InfluxURL() string {
	if s.Influx.Process == (process.Identity{}) {
		return ""
	}
	return (&influxd.Server{Port: s.Influx.Port}).URL()
}

// InfluxToken is InfluxDB's user and password, as USER:PASSWORD. It is a secret.
func (s *State) InfluxToken() string { return influxd.User + ":" + s.Influx.Password.reveal() }
