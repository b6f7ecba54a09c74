package logfile

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"iter"

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

type source struct {
	input  *Input
	format accesslog.Format
	parse  accesslog.Options
}

// block is complete lines of a source, and what is parsed of them.
type block struct {
	source *source
	data   bytes.Buffer
	parsed chan error // gets a value once the block is parsed

	requests []traffic.Request
	shapes   []byte // shapes of all requests
	ends     []int  // end of each request's shape in shapes
	lines    int64  // without empty ones
	skipped  [accesslog.Problems]Skipped
}

// Skipped is the lines that were not used for one reason.
type Skipped struct {
	Lines int64
	First int64 // number of the first such line, from 1, empty lines not counted
}

func (s *Skipped) add(line int64) {
	if s.Lines++; s.First == 0 {
		s.First = line
	}
}

// fill reads a block, and the rest of its last line, of which not more than makes the line
// too long. With io.EOF the block is the last.
func (b *block) fill(from *bufio.Reader) error {
	b.data.Reset()
	if _, err := io.CopyN(&b.data, from, blockSize); err != nil {
		return err
	}
	rest, err := from.ReadSlice('\n')
	b.data.Write(rest)
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = from.ReadSlice('\n')
	}
	return err
}

// lines are those that are not empty, without their ends.
func lines(data []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for line := range bytes.Lines(data) {
			if line = bytes.TrimRight(line, "\r\n"); len(line) > 0 && !yield(line) {
				return
			}
		}
	}
}

func (b *block) parse() (err error) {
	defer foreign.Guard(&err)
	parser := accesslog.New(b.source.format, b.source.parse)
	b.requests, b.shapes, b.ends, b.lines, b.skipped = b.requests[:0], b.shapes[:0], b.ends[:0], 0, [accesslog.Problems]Skipped{}
	var e accesslog.Entry
	for line := range lines(b.data.Bytes()) {
		b.lines++
		problem := accesslog.TooLong
		if len(line) <= maxLine {
			problem = parser.Parse(line, &e)
		}
		if problem != accesslog.None {
			b.skipped[problem].add(b.lines)
			continue
		}
		b.add(&e)
	}
	return nil
}

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
			in.first, in.last = r.At, r.At
		}
		in.Requests++
		in.first, in.last = min(in.first, r.At), max(in.last, r.At)
		t.Add(r)
	}
	for problem, s := range b.skipped {
		into := &in.skipped[problem]
		if into.Lines == 0 && s.Lines > 0 {
			into.First = in.Lines + s.First
		}
		into.Lines += s.Lines
	}
	in.Lines += b.lines
}
