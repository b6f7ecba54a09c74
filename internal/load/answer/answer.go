package answer

import (
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
	"go.k6.io/k6/v2/lib/netext/httpext"

	"assay.dev/assay/internal/observe/collect/host"
)

const (
	// Max is the size of an answer, decoded, in bytes.
	Max = 32 << 20
	// leastOpen is the size of all answers that a process may read at a time on any machine.
	// k6 takes up to four times as much for each: its buffer, which doubles, and the script's
	// text.
	leastOpen = 128 << 20
	// memoryShare of the machine's memory that is available may be read at a time.
	memoryShare = 16
	// uncounted of each answer do not count towards what is read at a time, so that ordinary
	// answers cost nothing. It is small: thousands of VUs may wait for the rest of theirs.
	uncounted = 64 << 10
	// maxWindow is the history of zstd, in bytes: what browsers allow (RFC 9659).
	maxWindow = 8 << 20

	// k6's codes of errors (lib/netext/httpext/error_codes.go).
	errorCode         = 1000
	decompressionCode = 1701

	// TooLarge begins the text of the error of an answer of more than Max.
	TooLarge = "the answer has more than"
	// Crowded is the text of the error of an answer that this generator had no room for. The
	// target is not to blame.
	Crowded = "the answers that are read at a time take more memory than the generator has for them"
)

// The texts are the same for all answers: they are values of a tag.
var (
	errSize = httpext.NewK6Error(errorCode, fmt.Sprintf("%s %d MiB", TooLarge, Max>>20), nil)
	errOpen = httpext.NewK6Error(errorCode, Crowded, nil)
)

// open is what all answers count.
var open atomic.Int64

// maxOpen is the size of all answers that this process may read at a time, in bytes. Another
// worker on the machine has as much.
var maxOpen = sync.OnceValue(func() int64 { return max(leastOpen, host.ReadLimits().Memory/memoryShare) })

// Limit limits the body of a response. Its Content-Encoding is hidden until the body is
// closed, so that k6 does not decode it again; dumped (k6's option httpDebug): for good, as
// k6 then closes the body before it decodes it.
func Limit(r *http.Response, dumped bool) {
	b := &body{raw: r.Body}
	b.decoded = b.raw
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && r.Body != http.NoBody {
		b.encoding, b.decoded = encoding, nil
		if !dumped {
			values := r.Header["Content-Encoding"]
			b.restore = func() { r.Header["Content-Encoding"] = values }
		}
		r.Header.Del("Content-Encoding")
	}
	r.Body = b
}

// body is that of a response.
type body struct {
	raw      io.ReadCloser
	encoding string
	decoded  io.Reader // nil: not read yet
	closers  []func()  // functions that close the decoders
	restore  func()    // the header; nil: it stays
	size     int64     // bytes that were read, decoded
	counted  int64     // part of size that is counted in open
	closed   bool
}

// Read reads the decoded body.
func (b *body) Read(p []byte) (int, error) {
	if b.decoded == nil {
		if err := b.decode(); err != nil {
			return 0, err
		}
	}
	n, err := b.decoded.Read(p)
	b.size += int64(n)
	if b.size > Max {
		return 0, errSize
	}
	if more := b.size - uncounted - b.counted; more > 0 && !b.closed {
		b.counted += more
		if open.Add(more) > maxOpen() {
			return 0, errOpen
		}
	}
	return n, err
}

// WriteTo is what io.Copy calls. A body that k6 throws away takes no memory: it is neither
// decoded nor limited.
func (b *body) WriteTo(w io.Writer) (int64, error) {
	if w == io.Discard {
		return io.Copy(w, b.raw)
	}
	return io.Copy(w, struct{ io.Reader }{b})
}

// Close closes the body, after which k6 has made the script's copy of it.
func (b *body) Close() error {
	if !b.closed {
		b.closed = true
		open.Add(-b.counted)
		for _, closeDecoder := range b.closers {
			closeDecoder()
		}
		if b.restore != nil {
			b.restore()
		}
	}
	return b.raw.Close()
}

// maxEncodings is how often an answer may be encoded.
const maxEncodings = 4

// decode makes the decoders, as k6 does: the last encoding first, and none for those that k6
// does not know.
func (b *body) decode() error {
	encodings := strings.Split(b.encoding, ",")
	if len(encodings) > maxEncodings {
		return httpext.NewK6Error(decompressionCode, fmt.Sprintf("the answer is encoded more than %d times", maxEncodings), nil)
	}
	var r io.Reader = b.raw
	for i := len(encodings) - 1; i >= 0; i-- {
		var err error
		switch strings.TrimSpace(encodings[i]) {
		case "gzip":
			r, err = gzip.NewReader(r)
		case "deflate":
			r, err = zlib.NewReader(r)
		case "br":
			r = brotli.NewReader(r)
		case "zstd":
			var d *zstd.Decoder
			if d, err = zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderLowmem(true)); err == nil {
				b.closers, r = append(b.closers, d.Close), d
			}
		}
		if errors.Is(err, io.EOF) { // not the end of a body
			err = httpext.NewK6Error(decompressionCode, "error decompressing response body ("+err.Error()+")", nil)
		}
		if err != nil {
			return err
		}
	}
	b.decoded = r
	return nil
}
