package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay.dev/assay/internal/crash"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/load/fleet"
	"assay.dev/assay/internal/load/fleet/local"
	"assay.dev/assay/internal/observe/collect/databases"
	"assay.dev/assay/internal/observe/collect/receiver"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/wire"
)

// crew is the workers of a run, and the server that they report to.
type crew struct {
	*Options
	receiver    *receiver.Receiver
	coordinator *fleet.Coordinator
	server      *server
	workers     fleet.Workers    // workers that the run has started; nil: others start them
	unjoined    chan fleet.Ended // workers that ended before they had joined
	joined      []wire.Hello     // hellos of the workers, by number; not known in a continued run
	follower    crash.Group      // follows how the workers end
	leave       context.CancelFunc
}

// gather listens for workers, starts them, and waits until all have joined.
func gather(ctx context.Context, o *Options, in *intake) (c *crew, err error) {
	c = &crew{Options: o, unjoined: make(chan fleet.Ended, o.Workers)}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.close())
		}
	}()
	defer crash.Guard(&err)
	keys, err := o.keys()
	if err != nil {
		return c, err
	}
	c.receiver = in.receiver(o, keys)
	c.coordinator = fleet.NewCoordinator(fleet.Options{Workers: o.Workers, Tool: o.tool(), Keys: keys, Check: o.Profile.CheckMetrics})
	if c.server, err = serve(o.Join, keys, o.Log, c.coordinator, c.receiver); err != nil {
		return c, err
	}
	if err := c.start(ctx); err != nil {
		return c, err
	}
	c.joined, err = c.await(ctx)
	return c, err
}

// tool is this program's build, which every worker must have.
func (o Options) tool() wire.Tool {
	return wire.Tool{Version: o.Tool.Version, Revision: o.Tool.Revision, Dirty: o.Tool.Dirty}
}

// start has the engine start the workers, and follows how they end.
func (c *crew) start(ctx context.Context) error {
	launch, err := c.Launch(c.server.address.String(), c.server.token)
	if err != nil {
		return err
	}
	launch.Here, launch.Line, launch.Say = c.server.here().String(), c.server.joinLine(c.Join), c.step
	launch.Loopback = c.server.Address().Addr().IsLoopback() && c.Join.Advertise == ""
	if list := c.instances(); list != nil {
		urls, err := list(ctx)
		if err != nil {
			c.note(err.Error())
		}
		launch.TargetPorts = portsOf(urls)
	}
	if c.Engine == nil {
		c.Engine = local.Engine{}
	}
	if c.workers, err = c.Engine.Start(ctx, launch); c.workers == nil || err != nil {
		c.workers = nil
		return err
	}
	ctx, c.leave = context.WithCancel(context.WithoutCancel(ctx))
	c.follower.Go(func() {
		for range c.Workers {
			select {
			case e := <-c.workers.Ended():
				if !c.coordinator.WorkerEnded(e) {
					c.unjoined <- e
				}
			case <-ctx.Done():
				return
			}
		}
	})
	return nil
}

// Longest is how long the run of a plan can take, from the start of its workers on.
func Longest(o Options, p plan.Plan) time.Duration {
	return o.joinTimeout() + o.startTimeout() + p.Duration() + p.Longest() + overtime + stopTimeout
}

func (o Options) joinTimeout() time.Duration { return cmp.Or(o.Join.Timeout, DefaultJoinTimeout) }

func (o Options) startTimeout() time.Duration { return cmp.Or(o.StartTimeout, DefaultStartTimeout) }

// await waits until all workers have joined, and reports how many have.
func (c *crew) await(ctx context.Context) ([]wire.Hello, error) {
	limit := c.joinTimeout()
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the limit is %s", limit))
	defer cancel()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	obstacles := map[string]bool{} // obstacles that were reported
	for said := ""; ; {
		select {
		case <-c.coordinator.Complete():
			return c.coordinator.AwaitWorkers(ctx)
		case <-ctx.Done():
			all, err := c.coordinator.AwaitWorkers(ctx)
			return all, c.joinError(err)
		case e := <-c.unjoined:
			who := cmp.Or(e.Name, "a worker")
			if e.Pod != "" {
				who = "the worker of pod " + e.Pod
			}
			return nil, fmt.Errorf("%s ended before it joined (%s): %s", who, e.Status, cmp.Or(e.Output, "it has printed nothing"))
		case <-tick.C:
			for _, text := range c.coordinator.Rejected() {
				c.note(text)
			}
			for _, text := range c.obstacles() {
				if !obstacles[text] {
					obstacles[text] = true
					c.note(text)
				}
			}
			hosts := c.coordinator.Hosts()
			if text := strings.Join(hosts, ", "); text != said && c.Join.Remote {
				said = text
				c.step(fmt.Sprintf("%d of %d workers have joined, on: %s", len(hosts), c.Workers, cmp.Or(text, "none")))
			}
		}
	}
}

// obstacles says why workers have not started yet.
func (c *crew) obstacles() []string {
	if c.workers == nil {
		return nil
	}
	return c.workers.Obstacles()
}

// joinError is the error of workers that have not joined in time.
func (c *crew) joinError(err error) error {
	switch {
	case err == nil || !c.Join.Remote:
		return err
	case c.workers == nil:
		return hint.With(err, "start the missing ones with the line above, or allow more time: --join-timeout 30m")
	}
	if all := c.obstacles(); len(all) > 0 {
		err = fmt.Errorf("%w; %s", err, all[0])
	}
	return hint.With(err, "remove what keeps them from starting, or allow more time: --join-timeout 30m")
}

// Launch is what an engine is asked for.
func (o Options) Launch(address, token string) (fleet.Launch, error) {
	p, err := plan.New(o.Profile, o.Workers, o.Seed)
	if err != nil {
		return fleet.Launch{}, err
	}
	database := ""
	if named, err := databases.Parse(o.DSN); err == nil && o.Profile.NeedsDatabase() {
		database = named.Address
	}
	var nodes []string
	if named, err := databases.ParseNodes(o.Nodes); err == nil && o.Profile.NeedsNodes() {
		for _, n := range named {
			nodes = append(nodes, n.Address)
		}
	}
	return fleet.Launch{
		Run: o.ID, Workers: o.Workers, Executable: o.Executable, Database: database, Nodes: nodes, Address: address, Token: token,
		Target: o.Target, Hosts: slices.Concat(o.File.Targets, o.AllowHosts), Longest: Longest(o, p),
	}, nil
}

// portsOf are the ports of URLs that have one.
func portsOf(urls []string) (ports []int) {
	for _, text := range urls {
		if u, err := url.Parse(text); err == nil {
			if n, err := strconv.Atoi(u.Port()); err == nil {
				ports = append(ports, n)
			}
		}
	}
	return ports
}

// close ends the workers that are left, and what was started for them. Those that have not
// started are told so.
func (c *crew) close() error {
	if c.coordinator != nil {
		c.coordinator.Refuse(errNotStarted)
	}
	return errors.Join(c.remove(), c.stopListening())
}

// errNotStarted is what workers are told of a run that does not begin.
var errNotStarted = errors.New("the run was not started")

// remove ends the workers that are left, and removes what was started for them.
func (c *crew) remove() error {
	if c.workers == nil {
		return nil
	}
	defer c.follower.Wait()
	defer c.leave()
	defer context.AfterFunc(c.ForceStop, c.workers.Kill)()
	return c.workers.Close()
}

// stopListening ends the requests of workers; nothing of them is added to the record
// afterwards.
func (c *crew) stopListening() (err error) {
	if c.server != nil {
		err = c.server.close()
	}
	if c.receiver != nil {
		c.receiver.Close()
	}
	return err
}
