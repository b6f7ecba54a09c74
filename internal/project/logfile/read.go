package logfile

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"github.com/klauspost/compress/gzip"

	"assay.dev/assay/internal/crash"
	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/hint"
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
	Name        string
	Format      accesslog.Format
	Durations   string // where the requests' times come from; empty: there are none
	Lines       uint64 // that are not empty
	Requests    uint64
	First, Last int64 // when requests arrived, µs since 1970; undefined without any
	Skipped     [accesslog.Problems]Skipped
}

// understood is the number of lines that are of the format.
func (in *Input) understood() uint64 {
	return in.Requests + in.Skipped[accesslog.NoPath].Lines
}

// sampleLines is how many of a log's first lines tell its format.
const sampleLines = 1000

// Read reads logs in the order of their names. A log of which most lines are not understood
// is an error, and so is one that is cut off in the middle of its compressed data.
func Read(ctx context.Context, names []string, o Options) ([]Input, *traffic.Tally, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop() // ends the goroutines below after an error; one that waits for standard input remains
	workers := runtime.GOMAXPROCS(0)
	blocks := 2*workers + 2
	r := &reader{
		options: o, free: make(chan *block, blocks), work: make(chan *block, blocks), ordered: make(chan *block, blocks),
	}
	for range blocks {
		r.free <- &block{done: make(chan struct{}, 1)}
	}
	for range workers {
		crash.Go(func() {
			var p parser
			for b := range r.work {
				b.failed = p.guarded(b)
				b.done <- struct{}{}
			}
		})
	}
	inputs := make([]Input, len(names))
	crash.Go(func() {
		defer close(r.work)
		defer close(r.ordered)
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
		case b, more := <-r.ordered:
			if !more {
				if r.failed != nil {
					return nil, nil, r.failed
				}
				return inputs, tally, mostlyUnderstood(inputs)
			}
			<-b.done
			if b.failed != nil {
				return nil, nil, fmt.Errorf("read %s: %w", shown(b.source.input.Name), b.failed)
			}
			b.count(tally)
			r.free <- b
		}
	}
}

// reader cuts logs into blocks.
type reader struct {
	options             Options
	free, work, ordered chan *block
	failed              error // set before ordered is closed
}

// read reads one log.
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
	var src *source
	var carry []byte // the start of a line whose end is in the next block
	long, skipping := uint64(0), false
	for end := false; !end; {
		var b *block
		select {
		case <-ctx.Done():
			return ctx.Err()
		case b = <-r.free:
		}
		b.data, err = fill(plain, append(b.data[:0], carry...))
		carry = carry[:0]
		if end = errors.Is(err, io.EOF); err != nil && !end {
			return readError(in.Name, err)
		}
		if skipping { // the rest of a line that is longer than a block
			_, rest, found := bytes.Cut(b.data, newline)
			skipping = !found && !end
			b.data = rest
		}
		if !end {
			i := bytes.LastIndexByte(b.data, '\n')
			if i < 0 && len(b.data) >= blockSize {
				skipping = true
				long++
			} else {
				carry = append(carry, b.data[i+1:]...)
			}
			b.data = b.data[:i+1]
		}
		if len(b.data) == 0 && !end {
			r.free <- b
			continue
		}
		if src == nil {
			if src, err = r.sample(in, b.data); err != nil {
				return err
			}
		}
		b.source, b.long, long = src, long, 0
		r.ordered <- b
		r.work <- b
	}
	return nil
}

// open opens a log.
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

// A compressed log has at most expandBytes and expandRatio times its size. Real ones have 10
// to 30 times theirs.
const (
	expandBytes = 64 << 20
	expandRatio = 300
)

// fill reads until the data are a block; with io.EOF they are the last.
func fill(from io.Reader, data []byte) ([]byte, error) {
	if cap(data) < blockSize {
		data = append(make([]byte, 0, blockSize), data...)
	}
	for len(data) < blockSize {
		n, err := from.Read(data[len(data):blockSize])
		data = data[:len(data)+n]
		if err != nil {
			return data, err
		}
	}
	return data, nil
}

// sample finds the format of a log from its first lines.
func (r *reader) sample(in *Input, data []byte) (*source, error) {
	var lines [][]byte
	for len(data) > 0 && len(lines) < sampleLines {
		var line []byte
		line, data, _ = bytes.Cut(data, newline)
		if line = bytes.TrimSuffix(line, carriageReturn); len(line) > 0 && len(line) <= maxLine {
			lines = append(lines, line)
		}
	}
	try := accesslog.Formats
	if r.options.Format != "" {
		try = []accesslog.Format{r.options.Format}
	}
	s := accesslog.Sample(lines, try, r.options.Parse)
	in.Format, in.Durations = s.Format, s.Durations
	if n := s.Understood[s.Format]; r.options.Format == "" && 2*n < s.Of {
		var tried []string
		for _, f := range try {
			tried = append(tried, fmt.Sprintf("%d as %s", s.Understood[f], f))
		}
		return nil, hint.With(fmt.Errorf("read %s: of its first %d lines, %s are understood", shown(in.Name), s.Of, strings.Join(tried, ", ")),
			"name the format, or the fields of JSON: see assay model --help")
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
		for problem, s := range in.Skipped {
			if p := accesslog.Problem(problem); s.Lines > 0 && p != accesslog.NoPath {
				first += fmt.Sprintf("; %s in %d lines, first in line %d", p, s.Lines, s.First)
			}
		}
		return hint.With(fmt.Errorf("read %s: %d of %d lines are not understood as %s%s", shown(in.Name), in.Lines-in.understood(), in.Lines, in.Format, first),
			"name the format, or the fields of JSON: see assay model --help")
	}
	return nil
}
