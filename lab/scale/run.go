package scale

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"assay.dev/assay/internal/document"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/run"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/trial"
)

// File is the name of the document in its folder.
const File = "scale.json"

// Steps makes the steps of one measurement.
type Steps struct {
	Parameters Parameters
	Profile    spec.Profile
	Warmup     time.Duration // warmup of each step, not measured
	Measured   time.Duration // measured time of each step
	Options    run.Options   // common to all runs
	Dir        string        // folder of the measurement
	Console    *trial.Console

	made []Step
}

// Check finds what would keep a step from starting.
func (s *Steps) Check(ctx context.Context) error {
	for i := range s.Parameters.Variants {
		o, err := s.options(Cell{Variant: i, Point: s.largest()})
		if err != nil {
			return err
		}
		if err := run.Check(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// CheckMachine finds what this machine lacks for the largest step.
func (s *Steps) CheckMachine() error {
	o, err := s.options(Cell{Point: s.largest()})
	if err != nil {
		return err
	}
	return run.CheckMachine(o)
}

// largest is the point with the most threads, else with the highest rate.
func (s *Steps) largest() (most Point) {
	for _, p := range s.Parameters.Points {
		if p.Threads > most.Threads || most.Threads == 0 && p.Rate > most.Rate {
			most = p
		}
	}
	return most
}

// Run makes all steps, and returns the document, also of the steps before an interrupt or
// an error.
func (s *Steps) Run(ctx context.Context) (Document, error) {
	cells := Order(len(s.Parameters.Variants), s.Parameters.Points, s.Parameters.Rounds)
	began := time.Now()
	for i, c := range cells {
		step, err := s.step(ctx, c, fmt.Sprintf("step %d of %d", i+1, len(cells)))
		if ctx.Err() != nil {
			return s.keep(Interrupted, context.Cause(ctx))
		}
		if err != nil {
			return s.keep(Failed, err)
		}
		s.made = append(s.made, step)
		left := ""
		if n := len(cells) - i - 1; n > 0 {
			left = fmt.Sprintf("; about %s left", (time.Since(began) / time.Duration(i+1) * time.Duration(n)).Round(time.Second))
		}
		s.Console.Say("scale: %s%s", text(step), left)
		if d, err := s.keep(Running, nil); err != nil {
			return d, err
		}
	}
	return s.keep(Done, nil)
}

// text is a step on one line.
func text(s Step) string {
	out := fmt.Sprintf("%s, %s: %.1f transactions per second", s.Variant, s.Point, s.TPS)
	if s.P95 != nil {
		out += fmt.Sprintf(", p95 %.3g ms", *s.P95)
	}
	if s.NotCompleted > 0 {
		out += fmt.Sprintf(", %d not completed", s.NotCompleted)
	}
	if s.Broken != "" {
		out += "; it does not count: " + s.Broken
	}
	return out
}

// keep writes the document. err is why the measurement ends, if it does.
func (s *Steps) keep(state string, err error) (Document, error) {
	d := Summarise(s.Parameters, state, s.made)
	data, failed := document.Marshal(d)
	if failed == nil {
		if failed = record.WriteFile(s.File(), data); failed != nil {
			failed = hint.With(failed, "free some disk space and measure again; the run folders so far are in "+s.Dir)
		}
	}
	return d, errors.Join(err, failed)
}

// File is the path of the document.
func (s *Steps) File() string { return filepath.Join(s.Dir, File) }

// options are those of one step.
func (s *Steps) options(c Cell) (run.Options, error) {
	v := s.Parameters.Variants[c.Variant]
	p := s.Profile
	p.Faults = nil
	// A target that fails is a result. What others suffer from a step still ends it.
	p.Abort = slices.DeleteFunc(slices.Clone(p.Abort), spec.Abort.OfLoad)
	if c.Point.Threads > 0 {
		p = p.WithThreads(c.Point.Threads, s.Warmup, s.Measured)
	} else {
		p = p.WithFlows(func(f *spec.Flow) {
			f.Load = spec.Load{Unit: f.Load.Unit, Target: c.Point.Rate, Warmup: s.Warmup, Hold: s.Measured, Even: f.Load.Even}
		})
		if _, err := plan.New(p, 1, 0); err != nil {
			return run.Options{}, err
		}
	}
	o := s.Options
	p.Env = maps.Clone(p.Env)
	for name, value := range v.Env {
		if p.Env == nil {
			p.Env = spec.Env{}
		}
		p.Env[name] = value
	}
	o.Profile = p
	o.ID, o.Scope = trial.NewID(p.Name), spec.ScopeTrial
	o.Seed = s.Parameters.Seed + uint64(c.Round) // the same work for all variants of a round
	o.Dir = filepath.Join(s.Dir, o.ID)
	o.Overrides = maps.Clone(v.Env)
	if o.Overrides == nil {
		o.Overrides = map[string]string{}
	}
	o.Overrides["load"] = c.Point.String()
	o.Limitations = []string{"a step of " + s.Parameters.ID + ": it certifies nothing"}
	return o, nil
}

// step makes one run.
func (s *Steps) step(ctx context.Context, c Cell, label string) (Step, error) {
	o, err := s.options(c)
	if err != nil {
		return Step{}, err
	}
	v := s.Parameters.Variants[c.Variant].Name
	quiet := *s.Console
	quiet.Quiet = true // the line after each step is enough
	s.Console.Say("scale: %s: %s, %s, round %d", label, v, c.Point, c.Round+1)
	result, err := trial.Run(ctx, o, quiet.Progress(o.Profile.Name))
	if err != nil {
		return Step{}, fmt.Errorf("%s, %s: %w", v, c.Point, err)
	}
	return StepOf(v, c, result.Record, result.Verdict, o.ID), nil
}
