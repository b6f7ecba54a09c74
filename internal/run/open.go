package run

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"assay.dev/assay/internal/doctor"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/load/fleet"
	"assay.dev/assay/internal/observe/collect/databases"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/wire"
)

// opened is a run with a plan for the workers that have joined, and a record.
type opened struct {
	*Options
	crew    *crew
	in      *intake
	plan    plan.Plan
	planned record.Plan
	found   doctor.Findings // findings of the preflight
	resumed record.Resumed  // what the record held when the coordinator was restarted
}

// otherFolder is the next step if a run could not begin its folder.
const otherFolder = "make room on its disk (df -h, df -i), or name another folder with --out"

// open plans the load for the workers that have joined, and makes the run folder.
func open(c *crew, in *intake, found doctor.Findings) (o *opened, err error) {
	o = &opened{Options: c.Options, crew: c, in: in, found: found}
	if o.plan, err = plan.NewWeighted(o.Profile, weights(o.Options, c.joined), o.Seed); err != nil {
		return nil, err
	}
	if err := o.checkWorkers(); err != nil {
		return nil, err
	}
	scripts, err := o.scriptDigests()
	if err != nil {
		return nil, err
	}
	insights, readers := "", []string(nil)
	if o.Insights != nil {
		insights = o.Insights.String()
	}
	for _, dsn := range o.Readers {
		readers = append(readers, databases.Public(dsn))
	}
	o.planned = record.Plan{
		Schema: "assay/plan/v1", Run: o.ID, Profile: o.Profile, Load: o.plan, Target: o.Target,
		Database: cmp.Or(databases.Public(o.DSN), insights), Insights: insights, Readers: readers,
		Thresholds: record.Digest{Path: o.File.Path, SHA256: o.File.Digest},
		Scripts:    scripts, Scope: o.Scope, Tool: o.Tool, Overrides: o.Overrides,
	}
	if in.writer, err = record.Create(o.Dir, o.planned); err != nil {
		return nil, hint.Or(err, otherFolder)
	}
	in.writer.Sealer = o.Sealer
	if o.File.Digest != "" {
		if err := in.writer.Thresholds(o.File.Text); err != nil {
			return nil, hint.With(err, otherFolder)
		}
	}
	in.looks, in.checker = newLooks(o.plan, o.Undecided), record.NewChecker(o.planned)
	return o, nil
}

// weights are the workers' parts of the load: equal, or by their CPUs.
func weights(o *Options, joined []wire.Hello) []int {
	weights := slices.Repeat([]int{1}, o.Workers)
	if o.Join.ByCPUs {
		for i, h := range joined {
			weights[i] = max(1, h.Machine.CPUs)
		}
	}
	return weights
}

// checkWorkers fails if a worker that has joined cannot carry its share.
func (o *opened) checkWorkers() error {
	if !o.Join.Remote {
		return nil // the preflight has checked this machine
	}
	for i, h := range o.crew.joined {
		found := doctor.Worker(doctor.Load{Profile: o.Profile, Plan: o.plan}, i, h.Machine)
		if err := refusal(found); err != nil {
			return hint.With(fmt.Errorf("%s on %s: %w", metric.WorkerSource(i), h.Machine.Name, err), hint.Of(err))
		}
	}
	return nil
}

// scriptDigests are those of the profile's scripts. Paths are relative to the folder of its
// scenario, or where flows have names to that of thresholds.json.
func (t Task) scriptDigests() ([]record.Digest, error) {
	var scripts []string
	for _, of := range t.Profile.Flows {
		scripts = append(scripts, t.File.ScriptPath(of))
	}
	root := filepath.Dir(scripts[0])
	if t.Profile.Named() {
		root = filepath.Dir(t.File.Path)
	}
	return digestsOf(root, scripts...)
}

// digestsOf lists scripts and the local modules that they import, with the digests of their
// content. Paths are relative to root.
func digestsOf(root string, scripts ...string) ([]record.Digest, error) {
	var digests []record.Digest
	err := fleet.EachSource(scripts, func(path string, source []byte) error {
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return fmt.Errorf("read scenario: %w", err)
		}
		sum := sha256.Sum256(source)
		digests = append(digests, record.Digest{Path: filepath.ToSlash(rel), SHA256: "sha256:" + hex.EncodeToString(sum[:])})
		return nil
	})
	slices.SortFunc(digests, func(a, b record.Digest) int { return strings.Compare(a.Path, b.Path) })
	return digests, err
}

// numbered continues the numbers of the frames of this process's own sources, which
// start again at 1.
func (o *opened) numbered(f metric.Frame) error {
	before := o.resumed.Sequences[f.Source]
	if before == 0 {
		return o.crew.receiver.Take(f)
	}
	f.Sequence += before
	if f.Closing {
		f.Points = slices.Clone(f.Points)
		for i, p := range f.Points {
			if p.Series.Name == metric.WorkerFrames {
				f.Points[i].Value += float64(before)
			}
		}
	}
	return o.crew.receiver.Take(f)
}

// begin begins to take what is sent into the record, and to show it.
func (o *opened) begin(ctx context.Context) {
	o.in.view = openView(ctx, o.View, o.note)
	o.in.begun.Store(true)
}
