package logfile

import (
	"context"
	"fmt"
	"slices"
	"time"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/project/model"
	"assay.dev/assay/internal/project/model/accesslog"
	"assay.dev/assay/internal/project/model/traffic"
)

// mostOutside is the share of the requests that may be outside the window and yet be counted
// in endpoints.
const mostOutside = 0.01

// Observe reads logs for a model. If no window is given (o.Traffic), and they span more than
// a day, it reads them again, for the day with the busiest minute only.
func Observe(ctx context.Context, names []string, o Options, zone *time.Location) (model.Observed, error) {
	inputs, tally, err := Read(ctx, names, o)
	if err != nil {
		return model.Observed{}, err
	}
	given := o.Traffic.Window
	from, to, outside := model.WindowOf(tally.Minutes())
	if given != nil {
		from, to, outside = given.From/1e6, given.To/1e6, 0
	}
	text := func(from, to int64) string {
		return fmt.Sprintf("%s/%s", time.Unix(from, 0).In(zone).Format(windowLayout), time.Unix(to, 0).In(zone).Format(windowLayout))
	}
	whole := float64(outside) <= mostOutside*float64(tally.Requests) // what was read is in the window
	switch {
	case tally.Requests == 0 && given != nil:
		return model.Observed{}, hint.With(fmt.Errorf("no request within the window, and %d outside", tally.Outside), "choose another --window, and --tz for the zone of its times")
	case tally.Requests == 0:
		return model.Observed{}, hint.With(fmt.Errorf("the log has no request"), "name a log that has some")
	case float64(tally.Apart) > mostOutside*float64(tally.Requests):
		return model.Observed{}, hint.With(fmt.Errorf("the log has requests in more than %d minutes: the model is of a day at most", len(tally.Minutes())), "choose a day: --window "+text(from, to))
	case whole && tally.Coarse > 0:
		busiest, shorter := model.Busiest(tally.Minutes()).Start, min(day, (to-from)/4)
		return model.Observed{}, hint.With(fmt.Errorf("%d requests cannot be counted by the second: too many endpoints have too many minutes in %s", tally.Coarse, text(from, to)),
			"choose a shorter time around the peak: --window "+text(max(from, busiest-shorter/2), min(to, busiest+shorter/2)))
	case whole:
		return observed(inputs, tally, from, to, outside, zone), nil
	case slices.Contains(names, Stdin):
		return model.Observed{}, hint.With(fmt.Errorf("the log on standard input spans more than a day, and cannot be read twice"), "choose the busiest day: --window "+text(from, to))
	}
	o.Traffic.Window = &traffic.Window{From: from * 1e6, To: to * 1e6}
	return Observe(ctx, names, o, zone)
}

// day is one in seconds.
const day = int64(24 * time.Hour / time.Second)

// windowLayout is how a time of a window is written.
const windowLayout = "2006-01-02T15:04"

func observed(inputs []Input, tally *traffic.Tally, from, to int64, outside uint64, zone *time.Location) model.Observed {
	o := model.Observed{Tally: tally, From: from, To: to, Outside: outside}
	for _, in := range inputs {
		if in.Requests > 0 {
			in.First, in.Last = time.UnixMicro(in.first).In(zone).Format(time.RFC3339), time.UnixMicro(in.last).In(zone).Format(time.RFC3339)
		}
		in.Skipped = map[string]int64{}
		for problem, s := range in.skipped {
			if s.Lines > 0 {
				in.Skipped[accesslog.Problem(problem).String()] = s.Lines
			}
		}
		o.Inputs = append(o.Inputs, in.Input)
	}
	return o
}
