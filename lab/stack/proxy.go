package stack

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/google/renameio/v2"

	"assay.dev/assay/internal/servers/haproxy"
	"assay.dev/assay/internal/servers/mysqld/replication"
	"assay.dev/assay/internal/servers/process"
	"assay.dev/assay/lab/stack/health"
)

// HealthCommand is the hidden command of assay that runs the health endpoint.
const HealthCommand = "node-health"

// proxyTimeout bounds the start of HAProxy, and of the health endpoint.
const proxyTimeout = 20 * time.Second

// ensureProxy ensures that HAProxy runs before the nodes, if it was asked for.
func (u *startup) ensureProxy(ctx context.Context) error {
	c := u.state.Cluster
	if c.Proxy == nil {
		return nil
	}
	if !u.health().alive() {
		if err := u.startHealth(ctx); err != nil {
			return err
		}
	}
	if u.proxy().alive() {
		return nil
	}
	return u.startProxy(ctx)
}

func (u *startup) startHealth(ctx context.Context) error {
	c := u.state.Cluster
	args := []string{HealthCommand, string(c.Kind)}
	var urls []string
	for _, n := range c.Nodes {
		if n.Health != 0 {
			args = append(args, n.Name+"="+strconv.Itoa(n.Health))
			urls = append(urls, "http://"+process.Address(n.Health)+health.Reader)
		}
	}
	cmd := exec.Command(u.options.Executable, args...)
	cmd.Env = process.Environment(health.NodesEnv + "=" + u.state.NodesDSN())
	child, err := u.health().start(cmd, 0)
	if err != nil {
		return err
	}
	u.stops = append(u.stops, u.health().stop)
	err = child.Await(ctx, proxyTimeout, func(ctx context.Context) error {
		for _, url := range urls {
			if err := answers(ctx, url); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("start health endpoint: %w (log: %s)", err, u.health().log)
	}
	return nil
}

// answers fails unless the URL is answered with success.
func answers(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := direct.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", url, resp.Status)
	}
	return nil
}

// listeners are HAProxy's: one writer at a time, and both nodes in turn. A reader behind
// the second one is only read.
func (c *Cluster) listeners() []haproxy.Listener {
	writer := haproxy.Listener{Name: "writer", Port: c.Proxy.Writer, Check: health.Writer}
	both := haproxy.Listener{Name: "both", Port: c.Proxy.Both, Check: health.Writer}
	if c.Kind == replication.Binlog {
		both.Check = health.Reader
	}
	for _, n := range c.Nodes {
		if n.Arbitrator {
			continue
		}
		s := haproxy.Server{Name: n.Name, Port: n.Port, HealthPort: n.Health}
		both.Servers = append(both.Servers, s)
		s.Backup = n.Name != NodeA
		writer.Servers = append(writer.Servers, s)
	}
	return []haproxy.Listener{writer, both}
}

func (u *startup) startProxy(ctx context.Context) error {
	c := u.state.Cluster
	binary, err := haproxy.Find()
	if err != nil {
		return err
	}
	text, err := haproxy.Configuration(c.listeners())
	if err != nil {
		return fmt.Errorf("start HAProxy: %w", err)
	}
	file := filepath.Join(u.dir, "haproxy.cfg")
	if err := renameio.WriteFile(file, text, 0o600); err != nil {
		return fmt.Errorf("start HAProxy: %w", err)
	}
	child, err := u.proxy().start(haproxy.Command(binary, file), 0)
	if err != nil {
		return err
	}
	u.stops = append(u.stops, u.proxy().stop)
	err = child.Await(ctx, proxyTimeout, func(ctx context.Context) error {
		return errors.Join(accepts(ctx, c.Proxy.Writer), accepts(ctx, c.Proxy.Both))
	})
	if err != nil {
		return fmt.Errorf("start HAProxy: %w (log: %s)", err, u.proxy().log)
	}
	u.log.Info("HAProxy is up", "writer", c.Proxy.Writer, "both", c.Proxy.Both, "pid", child.PID)
	return nil
}

// accepts fails unless a process listens on the port.
func accepts(ctx context.Context, port int) error {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", process.Address(port))
	if err != nil {
		return err
	}
	return c.Close()
}
