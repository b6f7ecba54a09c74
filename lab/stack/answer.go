package stack

import (
	"context"
	"fmt"
	"log/slog"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/localstack"
)

// Answer does what a request of another program says.
func Answer(ctx context.Context, q localstack.Request, log *slog.Logger) localstack.Reply {
	var r localstack.Reply
	err := answer(ctx, q, &r, log)
	if err != nil {
		r.Error, r.Hint = err.Error(), hint.Of(err)
	}
	return r
}

func answer(ctx context.Context, q localstack.Request, r *localstack.Reply, log *slog.Logger) (err error) {
	o := Options{Dir: q.Dir, Topology: q.Options.Topology, Proxy: q.Options.Proxy, TargetArgs: q.Options.TargetArgs}
	var s *State
	switch q.Do {
	case localstack.DoStatus:
		if s, _, err = Status(q.Dir); err == nil {
			r.State, err = stateOf(q.Dir, s)
		}
	case localstack.DoServer:
		server, err := Server(q.Dir)
		if err != nil {
			return err
		}
		r.Text = fmt.Sprintf("%s %s", server.Flavour, server.Version)
	case localstack.DoUp:
		if s, r.Started, err = Up(ctx, o, log); err == nil {
			r.State, err = stateOf(q.Dir, s)
		}
	case localstack.DoDown:
		err = Down(ctx, q.Dir, q.Parts)
	case localstack.DoRestart:
		_, err = Restart(ctx, o, q.Setup, q.Parts, log)
	case localstack.DoAdmin:
		r.Text, err = AdminDSN(q.Dir)
	case localstack.DoReady:
		err = NodeReady(q.Dir, q.Node)
	case localstack.DoNode:
		err = NodeDo(ctx, q.Dir, q.Node, Action(q.Action))
	default:
		err = fmt.Errorf("unknown request %q", q.Do)
	}
	return err
}

// stateOf is what runs need to know of a stack; nil: there was none yet.
func stateOf(dir string, s *State) (*localstack.State, error) {
	_, processes, err := Status(dir)
	if s == nil || err != nil {
		return nil, err
	}
	v := &localstack.State{
		Ready: s.Database.Ready, Target: s.TargetURL(), Collector: s.CollectorDSN(), NodesDSN: s.NodesDSN(),
		InfluxURL: s.InfluxURL(), InfluxAuth: s.InfluxToken(), Setup: s.Setup(),
	}
	for _, p := range processes {
		if p.Condition != IsUp && p.Name != InfluxName { // a run is possible without InfluxDB
			v.Down = fmt.Sprintf("%s is %s", p.Name, p.Condition)
		}
	}
	if s.Target.Process.Alive() {
		v.TargetArgs = append([]string{}, s.Target.Args...)
	}
	if s.Cluster != nil {
		for _, n := range s.Cluster.Nodes {
			v.Nodes = append(v.Nodes, n.Name)
		}
	}
	for _, secret := range []Secret{s.Users.Service.Password, s.Users.Collector.Password, s.Users.Replication.Password, s.Influx.Password} {
		if secret != "" {
			v.Secrets = append(v.Secrets, string(secret))
		}
	}
	return v, nil
}
