package ingestion

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/judge/sealed"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/run"
	"assay.dev/assay/internal/series/search"
	"assay.dev/assay/internal/servers/process"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/trial"
	"assay.dev/assay/lab/reproduce"
	"assay.dev/assay/lab/target"
)

// profile is the one that all modes run.
const profile = "ingestion"

// Options of the measurement: Shared has a database, and its target is replaced.
type Options struct {
	reproduce.Options
	ServiceDSN string  // DSN of the service's user, on the same database; a secret
	Rate       float64 // rate of all modes, per second; 0: shareOfHighest of the highest rate found
}

// shareOfHighest is the rate of all modes as a share of the highest rate (ours): at the
// highest rate itself any other work on the machine makes the generator late.
const shareOfHighest = 0.75

// Document is the result.
type Document struct {
	Rate     float64          // rate of all modes, per second
	Highest  *search.Document // the search in mode channel; null: the rate was given
	Reached  *Use             // at the search's lower bound; null: none
	Exceeded *Use
	Modes    []Mode
	Problems []string // what could not be measured, and why
}

// Mode is one way to run the service, with its run.
type Mode struct {
	Name        string
	Args        []string // arguments of `assay-lab target`
	Certificate certificate.Certificate
}

// Run searches for the rate, unless it is given, and measures all modes, one after the
// other. A mode that cannot be measured is stated, and the others go on; once ctx is done
// it ends, with what was measured.
func Run(ctx context.Context, o Options) (d Document, err error) {
	p, err := o.Shared.File.Profile(profile)
	if err != nil {
		return d, err
	}
	if o.ServiceDSN == "" || o.Shared.DSN == "" {
		return d, errors.New("the modes of ingestion need a database")
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return d, fmt.Errorf("make the folder of the results: %w", err)
	}
	p.Abort = nil // so that errors are counted until the end
	if d.Rate = o.Rate; d.Rate == 0 {
		if err := o.findRate(ctx, p, &d); err != nil {
			return d, err
		}
	}
	for _, m := range modes {
		c, err := o.measure(ctx, p, m, d.Rate)
		switch {
		case ctx.Err() != nil:
			return d, context.Cause(ctx)
		case err != nil:
			d.Problems = append(d.Problems, fmt.Sprintf("%s: %v", m.name, err))
			o.Console.Say("reproduce: %s: %v", m.name, err)
		default:
			d.Modes = append(d.Modes, Mode{m.name, m.args, c})
		}
	}
	return d, nil
}

// findRate finds the highest rate that generator, service and database reach together, in
// mode channel, and sets the rate of all modes by it.
func (o Options) findRate(ctx context.Context, p spec.Profile, d *Document) (err error) {
	s, err := serve(ctx, o.Shared.Executable, o.ServiceDSN, filepath.Join(o.Dir, "search.log"), channelArgs)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, s.Stop(drainPatience)) }()
	hold, width := search.DefaultTrial, 0.1
	if o.Quick {
		hold, width = 10*time.Second, 0.5
	}
	short, changed, err := search.Shorten(p, hold)
	if err != nil {
		return err
	}
	t := search.NewTrials(search.Parameters{
		ID: "search-" + trial.NewID(p.Name), Workers: o.Shared.Workers, Seed: o.Seed, Target: s.url,
		Goal: search.Goal{Trials: 2, Width: width}, Range: search.Range{From: p.Target(), Max: spec.MaxRate},
	}, short, changed)
	t.Options, t.Options.Target = o.Shared, s.url
	t.Dir, t.Console, t.Label = filepath.Join(o.Dir, "search"), o.Console, "highest rate"
	if err := cmp.Or(t.CheckParameters(), t.Check(ctx)); err != nil {
		return err
	}
	found, err := t.Search(ctx, nil)
	if err != nil {
		return fmt.Errorf("search for the highest rate: %w", err)
	}
	d.Highest = &found
	if found.Lower == nil { // nothing held: all modes are shown where this one is close to its limit
		d.Rate = t.Parameters.Range.From
		for _, probe := range found.Probes {
			d.Rate = min(d.Rate, probe.Rate)
		}
		d.Problems = append(d.Problems, "no rate held: "+found.Sentence)
	} else {
		d.Rate = math.Ceil(shareOfHighest * *found.Lower)
		d.Reached = o.use(t.Dir, found, *found.Lower)
	}
	switch {
	case found.Upper != nil:
		d.Exceeded = o.use(t.Dir, found, *found.Upper)
	case found.GeneratorAt != nil:
		d.Exceeded = o.use(t.Dir, found, *found.GeneratorAt)
	}
	return nil
}

// measure certifies one mode; the service is of its own.
func (o Options) measure(ctx context.Context, p spec.Profile, m mode, rate float64) (c certificate.Certificate, err error) {
	p, err = p.WithRate(rate)
	if err != nil {
		return c, err
	}
	if o.Quick {
		l := &p.Flows[0].Load
		l.Warmup, l.Baseline.For, l.Ramp, l.Hold, l.Cooldown = 2*time.Second, 2*time.Second, time.Second, 10*time.Second, 2*time.Second
	}
	folder := filepath.Join(o.Dir, folderOf(m.name))
	s, err := serve(ctx, o.Shared.Executable, o.ServiceDSN, folder+".log", m.args)
	if err != nil {
		return c, err
	}
	defer func() {
		if m.kill {
			err = cmp.Or(err, s.Kill())
		} else {
			err = cmp.Or(err, s.Stop(drainPatience))
		}
	}()
	o.Console.Say("reproduce: %s, at %g/s", m.name, rate)
	r := o.Shared
	r.ID, r.Profile, r.Scope, r.Seed, r.Target, r.Dir = trial.NewID(profile), p, spec.ScopeTrial, o.Seed, s.url, folder
	if r.Overrides = o.Overrides(); r.Overrides == nil {
		r.Overrides = map[string]string{"rate": strconv.FormatFloat(rate, 'g', -1, 64)}
	}
	r.Limitations = append(r.Limitations[:len(r.Limitations):len(r.Limitations)], "the reference service, as in a field report: "+m.name)
	result, _, err := trial.Certify(ctx, r, o.Console, nil, "", m.maker(s))
	if err != nil {
		return c, err
	}
	return result.Certificate(), nil
}

// maker makes the run, and kills the service if the mode says so.
func (m mode) maker(s service) trial.Maker {
	if !m.kill {
		return trial.Run
	}
	return func(ctx context.Context, o run.Options, p *trial.Progress) (sealed.Result, error) {
		var killError error
		o.Progress = func(e run.Event) {
			p.Report(e)
			if e.Kind == run.Enter && e.Stage.Name == plan.Cooldown {
				killError = s.Kill()
			}
		}
		err := run.Run(ctx, o)
		p.End()
		if err = cmp.Or(err, killError); err != nil {
			return sealed.Result{}, err
		}
		return sealed.Open(o.Dir)
	}
}

// mode is a way to run the reference service.
type mode struct {
	name string
	args []string // arguments of `assay-lab target`
	kill bool     // the service is killed when the judged load has ended
}

// channelArgs let the queue grow as long as memory lasts, as in the field report.
var channelArgs = []string{"--ingest", "channel", "--ingest-queue", "10000000", "--drain-timeout", "10m"}

// modes are those of the field report, in its order.
var modes = []mode{
	{name: "direct, a pool for each request", args: []string{"--ingest", "direct", "--pool-per-request"}},
	{name: "direct, pool keeps 2", args: []string{"--ingest", "direct", "--pool-max-open", "0", "--pool-max-idle", "2"}},
	{name: "direct, pool of 8", args: []string{"--ingest", "direct", "--pool-max-open", "8"}},
	{name: "bulk", args: []string{"--ingest", "bulk"}},
	{name: "channel", args: channelArgs},
	// Each event waits for its INSERT for a second: that long is what a kill loses.
	{name: "channel, killed", args: append(channelArgs[:len(channelArgs):len(channelArgs)], "--ingest-wait", "1s"), kill: true},
}

const (
	startTimeout = 30 * time.Second
	// drainPatience exceeds the drain time-out of channelArgs.
	drainPatience = 11 * time.Minute
)

// service is the reference service as a child process.
type service struct {
	*process.Child
	url string
}

// serve starts the reference service on a free port of loopback. Its log is appended to a
// file.
func serve(ctx context.Context, executable, dsn, logFile string, args []string) (s service, err error) {
	log, err := process.OpenLog(logFile)
	if err != nil {
		return s, fmt.Errorf("start the reference service: %w", err)
	}
	defer func() { _ = log.Close() }() // the child has its own
	err = process.OnFreePort(func(port int) error {
		s.url = "http://" + process.Address(port)
		cmd := exec.Command(executable, append([]string{"target", "--listen", process.Address(port)}, args...)...)
		cmd.Env = append(process.WithoutSecrets(), "ASSAY_DB="+dsn)
		cmd.Stdout, cmd.Stderr = log.File, log.File
		if s.Child, err = process.Start(cmd, process.Tied); err != nil {
			return err
		}
		err := s.Await(ctx, startTimeout, func(ctx context.Context) error { return target.CheckHealth(ctx, s.url) })
		if err != nil {
			_ = s.Kill() // it may have ended
		}
		return err
	})
	if err != nil {
		return s, hint.With(fmt.Errorf("start the reference service: %w", err), "see its log: "+logFile)
	}
	return s, nil
}
