package worker

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"assay.dev/assay/internal/crash"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/observe/collect/host"
	"assay.dev/assay/internal/servers/scratch"
	"assay.dev/assay/internal/wire"
	"assay.dev/assay/internal/wire/identity"
)

// Options is what a worker needs.
type Options struct {
	URL        string // URL of the coordinator, as in its join line
	Token      string // token of the run
	Tool       wire.Tool
	Executable string        // this program, which runs k6
	Wait       time.Duration // how long to wait for a coordinator that does not answer yet
	Dir        string        // parent of the worker's folder; empty: the system's for temporary files
	Output     io.Writer     // progress

	// For tests; zero: none.
	Skew      func(time.Time) time.Time       // changes the worker's clock
	Machine   func(wire.Machine) wire.Machine // changes what the worker says of its machine
	InMemory  int                             // bytes of reports in memory, before they are written to disk
	LostAfter time.Duration                   // without an answer of the coordinator, in place of wire.LostAfter
}

// Run takes part in one run and returns how k6 ended: its exit status, "0" after a load
// that went as planned. An error means that the run did not begin, or that reports were
// not delivered. When ctx is done, the load ends and its reports are delivered.
func Run(ctx context.Context, o Options) (status string, err error) {
	say := func(format string, args ...any) { fmt.Fprintf(o.Output, "worker: "+format+"\n", args...) }
	c := newClock()
	if o.Skew != nil {
		now := c.now
		c.now = func() time.Time { return o.Skew(now()) }
	}
	address, err := identity.ParseAddress(o.URL)
	if err != nil {
		return "", err
	}
	// Before it joins: from then on a worker that fails costs the run.
	dir, remove, err := scratch.Make(o.Dir, "assay-worker-")
	if err != nil {
		return "", hint.With(fmt.Errorf("make worker's folder: %w", err), "name a folder that this user may write to: --dir")
	}
	defer func() { err = errors.Join(err, remove()) }()
	link := wire.New(address.URL, o.Token, address.TLS(o.Token))
	defer link.Close()
	a, err := join(ctx, link, o, say)
	if err != nil {
		return "", err
	}
	mask.AddDSN(a.Database)
	mask.AddDSN(a.Nodes)
	say("%s of %d in run %s, for %s", a.Source, a.Of, a.Run, a.Target)
	s := newSession(link, a, dir, c, say)
	s.spool.inMemory, s.lostAfter = cmp.Or(o.InMemory, inMemory), cmp.Or(o.LostAfter, wire.LostAfter)
	s.answered()
	return s.run(ctx, o.Executable)
}

// join waits until all workers have joined.
func join(ctx context.Context, link *wire.Link, o Options, say func(string, ...any)) (wire.Assignment, error) {
	hello := wire.Hello{Identity: rand.Text(), PID: os.Getpid(), Tool: o.Tool, Machine: thisMachine()}
	if o.Machine != nil {
		hello.Machine = o.Machine(hello.Machine)
	}
	var said wire.Waiting
	answered, waits := time.Now(), false
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		asking, cancel := context.WithTimeout(ctx, messageTimeout)
		a, waiting, err := link.Join(asking, hello)
		cancel()
		var refused *wire.RefusedError
		switch {
		case err == nil && a != nil:
			return *a, nil
		case err == nil:
			answered, pause = time.Now(), 0
			if waiting != said {
				say("joined: waiting for %d of %d workers", waiting.Of-waiting.Joined, waiting.Of)
				said = waiting
			}
		case errors.As(err, &refused):
			next := ""
			if refused.Status == http.StatusUnauthorized {
				next = "set ASSAY_JOIN_TOKEN to the token of this run, which its coordinator prints"
			}
			return wire.Assignment{}, hint.With(fmt.Errorf("join %s: %s", link.URL(), refused.Reason), next)
		case ctx.Err() != nil:
			return wire.Assignment{}, context.Cause(ctx)
		case hint.Of(err) != "": // another coordinator: its key is not the expected one
			return wire.Assignment{}, fmt.Errorf("join %s: %w", link.URL(), err)
		case time.Since(answered) > o.Wait:
			return wire.Assignment{}, hint.With(fmt.Errorf("join %s: %w", link.URL(), err), "start the coordinator first, or wait longer for it: --wait 10m")
		case !waits:
			say("waiting for the coordinator: %v", err)
			waits = true
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// thisMachine is where this process runs, and what it may use.
func thisMachine() wire.Machine {
	d, l := host.Describe(), host.ReadLimits()
	return wire.Machine{
		Name: d.Name, OS: d.OS, Kernel: d.Kernel, CPU: d.CPU, CPUs: l.CPUs, Memory: d.Memory,
		Available: l.Memory, Descriptors: l.Descriptors, Boot: host.Boot(), Namespace: host.Namespace(),
		Pod: os.Getenv(wire.EnvPod), Node: os.Getenv(wire.EnvNode),
	}
}

// run runs k6 and delivers its reports.
func (s *session) run(ctx context.Context, executable string) (status string, err error) {
	var alive crash.Group
	living, end := context.WithCancel(context.Background())
	defer alive.Wait()
	defer end()
	defer s.giveUp(nil)
	alive.Go(func() { s.heartbeats(living) })
	defer context.AfterFunc(ctx, func() {
		s.interrupted.Store(true)
		s.stop("interrupted")
	})()
	status, err = s.runK6(ctx, executable)
	exit := wire.Exit{Status: status}
	if err != nil {
		exit.Error = mask.Text(err.Error())
	}
	if err := s.sayExit(exit); err != nil && exit.Error == "" {
		return status, fmt.Errorf("%s: %w", s.assignment.Source, err)
	}
	return status, err
}

// runK6 returns when k6 has ended and its reports are delivered, or lost.
func (s *session) runK6(ctx context.Context, executable string) (status string, err error) {
	defer s.spool.free()
	archive, err := s.fetchArchive(ctx)
	if err != nil {
		return "", err
	}
	if err := prepare(s.assignment, archive, s.dir); err != nil {
		return "", err
	}
	offset, err := s.firstOffset(ctx)
	if err != nil {
		return "", err
	}
	p, err := serveK6(s)
	if err != nil {
		return "", err
	}
	c, err := startK6(executable, arguments(s.assignment, s.dir), environment(s.assignment, p, offset), &s.log)
	if err != nil {
		p.close()
		return "", err
	}
	s.k6.Store(c)
	running, ended := context.WithCancel(context.Background())
	var delivery crash.Group
	delivery.Go(s.deliver)
	delivery.Go(func() { s.sendLog(running) })
	delivery.Go(func() { s.stopK6(c) })
	status = c.status()
	p.close()
	s.spool.close()
	ended()
	delivery.Wait()
	if n := s.spool.waiting(); n > 0 {
		return status, fmt.Errorf("%s: %d reports were not delivered: %w", s.assignment.Source, n, context.Cause(s.lost))
	}
	s.say("all reports are delivered; k6 ended: %s", status)
	return status, nil
}

// firstOffset waits until the clocks have been compared.
func (s *session) firstOffset(ctx context.Context) (time.Duration, error) {
	for {
		if offset, known := s.clock.offset(); known {
			return offset, nil
		}
		select {
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		case <-s.stopping:
			return 0, errors.New("the run has ended")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// fetchArchive fetches the script, which must be the one that the coordinator announced.
func (s *session) fetchArchive(ctx context.Context) (archive []byte, err error) {
	err = s.attempt(ctx, func(ctx context.Context) (err error) {
		archive, err = s.link.Archive(ctx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("fetch the script: %w", err)
	}
	if sum := sha256.Sum256(archive); hex.EncodeToString(sum[:]) != s.assignment.Archive {
		return nil, fmt.Errorf("fetch the script: its digest is %s, the coordinator announced %s", hex.EncodeToString(sum[:]), s.assignment.Archive)
	}
	return archive, nil
}
