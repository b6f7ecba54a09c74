package logfile

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"

	"assay.dev/assay/internal/crash"
	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/project/model"
	"assay.dev/assay/internal/project/model/accesslog"
	"assay.dev/assay/internal/project/model/traffic"
)

// Stdin is the name of standard input.
const Stdin = "-"

// Options are how logs are read.
type Options struct {
	Format  accesslog.Format // empty: the one that understands most of a log's first lines
	Parse   accesslog.Options
	Traffic traffic.Options
	Stdin   io.Reader
}

// Input is what was read of one log.
type Input struct {
	model.Input       // without what the fields below say in other words
	first, last int64 // when requests arrived, µs since 1970; undefined without any
	skipped     [accesslog.Problems]Skipped
}

// understood is the number of lines that are of the format.
func (in *Input) understood() int64 {
	return in.Requests + in.skipped[accesslog.NoPath].Lines
}

// sampleLines is how many of a log's first lines tell its format.
const sampleLines = 1000

// Read reads logs in the order of their names. A log of which most lines are not understood
// is an error, and so is one that is cut off in the middle of its compressed data.
func Read(ctx context.Context, names []string, o Options) ([]Input, *traffic.Tally, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop() // ends the goroutine below after an error; one that waits for standard input remains
	r := &reader{options: o, blocks: make(chan *block, 2*runtime.GOMAXPROCS(0))}
	r.free.New = func() any { return &block{parsed: make(chan error, 1)} }
	inputs := make([]Input, len(names))
	crash.Go(func() {
		defer close(r.blocks)
		for i, name := range names {
			inputs[i].Name = name
			if r.failed = crash.Call(func() error { return r.read(ctx, &inputs[i]) }); r.failed != nil {
				return
			}
		}
	})
	tally := traffic.New(o.Traffic)
	for {
		select {
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		case b, more := <-r.blocks:
			if !more {
				if r.failed != nil {
					return nil, nil, r.failed
				}
				return inputs, tally, mostlyUnderstood(inputs)
			}
			if err := <-b.parsed; err != nil {
				return nil, nil, fmt.Errorf("read %s: %w", shown(b.source.input.Name), err)
			}
			b.count(tally)
			r.free.Put(b)
		}
	}
}

// reader divides logs into blocks, and has them parsed.
type reader struct {
	options Options
	free    sync.Pool   // unused blocks
	blocks  chan *block // in the order of their lines; they may be parsed later
	failed  error       // set before blocks is closed
}

func (r *reader) read(ctx context.Context, in *Input) (err error) {
	from, err := r.open(in.Name)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }() // only read
	plain, err := decompress(from)
	if err != nil {
		return readError(in.Name, err)
	}
	buffered := bufio.NewReaderSize(plain, maxLine+1) // a full one is more than a line
	var src *source
	for end := false; !end; {
		b := r.free.Get().(*block)
		err := b.fill(buffered)
		if end = errors.Is(err, io.EOF); err != nil && !end {
			return readError(in.Name, err)
		}
		if src == nil {
			if src, err = r.sample(in, b.data.Bytes()); err != nil {
				return err
			}
		}
		b.source = src
		select {
		case <-ctx.Done():
			return ctx.Err()
		case r.blocks <- b:
			crash.Go(func() { b.parsed <- b.parse() })
		}
	}
	return nil
}

func (r *reader) open(name string) (io.ReadCloser, error) {
	if name == Stdin {
		return io.NopCloser(r.options.Stdin), nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, readError(name, err)
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		_ = f.Close() // only read
		return nil, hint.With(fmt.Errorf("read %s: it is a folder", name), "name the logs in it")
	}
	return f, nil
}

// shown is the name of a log in an error.
func shown(name string) string {
	if name == Stdin {
		return "standard input"
	}
	return name
}

// readError is an error of a log without the system call.
func readError(name string, err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = hint.With(errors.New("its compressed data are cut off, so that requests are missing"),
			"to read what is there: gzip -dc FILE 2>/dev/null | assay model -")
	}
	return fmt.Errorf("read %s: %w", shown(name), err)
}

// A compressed log has at most expandBytes and expandRatio times its size. Real ones have 10
// to 30 times theirs.
const (
	expandBytes = 64 << 20
	expandRatio = 300
)

// decompress returns the uncompressed data: what is compressed by gzip says so itself.
func decompress(from io.Reader) (io.Reader, error) {
	limited := &foreign.Expanding{Sent: from, Base: expandBytes, Ratio: expandRatio, Hint: "to read it nevertheless: gzip -dc FILE | assay model -"}
	buffered := bufio.NewReaderSize(limited.Compressed(), 256<<10)
	magic, err := buffered.Peek(2)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if string(magic) != "\x1f\x8b" {
		return buffered, nil
	}
	limited.From, err = gzip.NewReader(buffered)
	return limited, err
}

// nameFormat is the next step where a log is not understood.
const nameFormat = "name the format, or the fields of JSON: see assay model --help"

// sample finds the format of a log from its first lines.
func (r *reader) sample(in *Input, data []byte) (*source, error) {
	var first [][]byte
	for line := range lines(data) {
		if len(first) == sampleLines {
			break
		}
		if len(line) <= maxLine {
			first = append(first, line)
		}
	}
	try := accesslog.Formats
	if r.options.Format != "" {
		try = []accesslog.Format{r.options.Format}
	}
	s := accesslog.Sample(first, try, r.options.Parse)
	in.Format, in.Durations = string(s.Format), s.Durations
	if n := s.Understood[s.Format]; r.options.Format == "" && 2*n < s.Of {
		var tried []string
		for _, f := range try {
			tried = append(tried, fmt.Sprintf("%d as %s", s.Understood[f], f))
		}
		return nil, hint.With(fmt.Errorf("read %s: of its first %d lines, %s are understood", shown(in.Name), s.Of, strings.Join(tried, ", ")), nameFormat)
	}
	return &source{input: in, format: s.Format, parse: s.Options}, nil
}

// mostlyUnderstood is an error if most lines of an input are not.
func mostlyUnderstood(inputs []Input) error {
	for _, in := range inputs {
		if 2*in.understood() >= in.Lines {
			continue
		}
		first := ""
		for problem, s := range in.skipped {
			if p := accesslog.Problem(problem); s.Lines > 0 && p != accesslog.NoPath {
				first += fmt.Sprintf("; %s in %d lines, first in line %d", p, s.Lines, s.First)
			}
		}
		return hint.With(fmt.Errorf("read %s: %d of %d lines are not understood as %s%s", shown(in.Name), in.Lines-in.understood(), in.Lines, in.Format, first), nameFormat)
	}
	return nil
}

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
