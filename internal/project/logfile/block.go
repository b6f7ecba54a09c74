package logfile

import (
	"bytes"

	"github.com/cespare/xxhash/v2"

	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/project/model/accesslog"
	"assay.dev/assay/internal/project/model/route"
	"assay.dev/assay/internal/project/model/traffic"
)

const (
	blockSize = 1 << 20
	// maxLine is longer than any line that servers write of requests that they accept: they
	// limit headers to 8 to 64 KiB.
	maxLine = 256 << 10
)

// source is a log that is read.
type source struct {
	input  *Input
	format accesslog.Format
	parse  accesslog.Options
}

// block is complete lines of a source, and what is parsed of them.
type block struct {
	source *source
	data   []byte
	long   uint64 // lines before data that were longer than a block

	requests []traffic.Request
	shapes   []byte // of all requests
	ends     []int  // of each request's shape in shapes
	lines    uint64 // with long, but without empty ones
	skipped  [accesslog.Problems]Skipped
	failed   error         // the parser panicked
	done     chan struct{} // gets a value once the block is parsed
}

// Skipped is the lines that were not used for one reason.
type Skipped struct {
	Lines uint64
	First uint64 // number of the first such line, from 1, empty lines not counted
}

func (s *Skipped) add(line uint64) {
	if s.Lines++; s.First == 0 {
		s.First = line
	}
}

// parser parses blocks, one after the other.
type parser struct {
	of   *source
	line accesslog.Parser
}

func (p *parser) guarded(b *block) (err error) {
	defer foreign.Guard(&err)
	p.parse(b)
	return nil
}

func (p *parser) parse(b *block) {
	if p.of != b.source {
		p.of, p.line = b.source, accesslog.New(b.source.format, b.source.parse)
	}
	b.requests, b.shapes, b.ends, b.lines = b.requests[:0], b.shapes[:0], b.ends[:0], 0
	b.skipped = [accesslog.Problems]Skipped{}
	for range b.long {
		b.lines++
		b.skipped[accesslog.TooLong].add(b.lines)
	}
	var e accesslog.Entry
	for data := b.data; len(data) > 0; {
		var line []byte
		line, data, _ = bytes.Cut(data, newline)
		if line = bytes.TrimSuffix(line, carriageReturn); len(line) == 0 {
			continue
		}
		b.lines++
		if len(line) > maxLine {
			b.skipped[accesslog.TooLong].add(b.lines)
			continue
		}
		if problem := p.line.Parse(line, &e); problem != accesslog.None {
			b.skipped[problem].add(b.lines)
			continue
		}
		b.add(&e)
	}
}

var newline, carriageReturn = []byte("\n"), []byte("\r")

// add keeps what is counted of an entry.
func (b *block) add(e *accesslog.Entry) {
	path, _, query := bytes.Cut(e.Target, []byte("?"))
	r := traffic.Request{At: e.At, Latency: e.Latency, Status: e.Status, PathKey: xxhash.Sum64(path)}
	r.TargetKey = r.PathKey
	if query {
		r.TargetKey = xxhash.Sum64(e.Target)
	}
	b.requests = append(b.requests, r)
	b.shapes = route.AppendShape(b.shapes, byte(e.Method), e.Target)
	b.ends = append(b.ends, len(b.shapes))
}

// count adds the block's requests to a tally, and its lines to the input.
func (b *block) count(t *traffic.Tally) {
	in, start := b.source.input, 0
	for i := range b.requests {
		r := &b.requests[i]
		r.Shape = b.shapes[start:b.ends[i]]
		start = b.ends[i]
		if in.Requests == 0 {
			in.First, in.Last = r.At, r.At
		}
		in.Requests++
		in.First, in.Last = min(in.First, r.At), max(in.Last, r.At)
		t.Add(r)
	}
	for problem, s := range b.skipped {
		into := &in.Skipped[problem]
		if into.Lines == 0 && s.Lines > 0 {
			into.First = in.Lines + s.First
		}
		into.Lines += s.Lines
	}
	in.Lines += b.lines
}
