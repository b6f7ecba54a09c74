package answer

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
	"github.com/sirupsen/logrus"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/netext/httpext"
	"go.k6.io/k6/v2/metrics"
)

// transport is k6's, with the limit or without.
type transport struct{ limited bool }

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := (&http.Transport{DisableCompression: true, DisableKeepAlives: true}).RoundTrip(r)
	if err == nil && t.limited {
		Limit(resp, false)
	}
	return resp, err
}

// get is a request as k6 makes it.
func get(t *testing.T, limited bool, address string, as httpext.ResponseType) *httpext.Response {
	t.Helper()
	u, err := httpext.NewURL(address, address)
	if err != nil {
		t.Fatal(err)
	}
	tags := metrics.SystemTagSet(0)
	registry := metrics.NewRegistry()
	log := logrus.New()
	log.SetOutput(io.Discard)
	state := &lib.State{
		Options: lib.Options{SystemTags: &tags}, Transport: transport{limited}, Logger: log,
		BufferPool: lib.NewBufferPool(), Samples: make(chan metrics.SampleContainer, 10),
		Tags: lib.NewVUStateTags(registry.RootTagSet()), BuiltinMetrics: metrics.RegisterBuiltinMetrics(registry),
	}
	parsed, _ := url.Parse(address)
	resp, err := httpext.MakeRequest(context.Background(), state, &httpext.ParsedHTTPRequest{
		URL: &u, Req: &http.Request{Method: http.MethodGet, URL: parsed, Header: http.Header{}}, Timeout: 1 << 40,
		ResponseType: as, TagsAndMeta: state.Tags.GetCurrentValues(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// encoded is a text in an encoding, or in several.
func encoded(t *testing.T, encodings, text string) []byte {
	t.Helper()
	data := []byte(text)
	for encoding := range strings.SplitSeq(encodings, ",") {
		var b bytes.Buffer
		var w io.WriteCloser
		switch strings.TrimSpace(encoding) {
		case "gzip":
			w, _ = gzip.NewWriterLevel(&b, gzip.BestSpeed)
		case "deflate":
			w = zlib.NewWriter(&b)
		case "br":
			w = brotli.NewWriterLevel(&b, brotli.BestSpeed)
		case "zstd":
			w, _ = zstd.NewWriter(&b, zstd.WithWindowSize(1<<20))
		default:
			continue // k6 knows none
		}
		_, err := w.Write(data)
		if err == nil {
			err = w.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		data = b.Bytes()
	}
	return data
}

// serve answers with a body in an encoding.
func serve(t *testing.T, encoding string, body []byte) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if encoding != "" {
			w.Header().Set("Content-Encoding", encoding)
		}
		_, _ = w.Write(body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// What k6 makes of an ordinary answer is the same with the limit and without.
func TestOrdinaryAnswers(t *testing.T) {
	text := strings.Repeat("ordinary ", 1000)
	for name, c := range map[string]struct {
		encoding string
		body     []byte
	}{
		"plain": {"", []byte(text)}, "none": {"", nil}, "gzip": {"gzip", encoded(t, "gzip", text)}, "deflate": {"deflate", encoded(t, "deflate", text)},
		"br": {"br", encoded(t, "br", text)}, "zstd": {"zstd", encoded(t, "zstd", text)},
		"twice": {"gzip, br", encoded(t, "gzip, br", text)}, "unknown": {"identity, x", []byte(text)},
		"empty": {"gzip", nil}, "malformed": {"gzip", []byte(text)}, "cut off": {"gzip", encoded(t, "gzip", text)[:20]},
		"malformed zstd": {"zstd", []byte(text)}, "malformed br": {"br", []byte(text)}, "malformed deflate": {"deflate", []byte(text)},
	} {
		t.Run(name, func(t *testing.T) {
			address := serve(t, c.encoding, c.body)
			for _, as := range []httpext.ResponseType{httpext.ResponseTypeText, httpext.ResponseTypeNone} {
				want, got := get(t, false, address, as), get(t, true, address, as)
				if want.Error == "" && got.Body != want.Body || got.Error != want.Error || got.ErrorCode != want.ErrorCode || got.Headers["Content-Encoding"] != want.Headers["Content-Encoding"] {
					t.Errorf("%.40v, %s, %d, %v\nwant %.40v, %s, %d, %v", got.Body, got.Error, got.ErrorCode, got.Headers, want.Body, want.Error, want.ErrorCode, want.Headers)
				}
			}
			if n := open.Load(); n != 0 {
				t.Errorf("%d bytes are counted after all", n)
			}
		})
	}
}

// Answers of a few kB that expand to more than the limit, and endless ones, fail; those
// that k6 throws away do not.
func TestHugeAnswers(t *testing.T) {
	huge := strings.Repeat("\x00", Max+1)
	for _, encoding := range []string{"", "gzip", "br", "zstd", "br, gzip"} {
		address := serve(t, encoding, encoded(t, encoding, huge))
		if got := get(t, true, address, httpext.ResponseTypeText); got.Error != errSize.Error() {
			t.Errorf("%s: %q", encoding, got.Error)
		}
		if got := get(t, true, address, httpext.ResponseTypeNone); got.Error != "" {
			t.Errorf("%s, thrown away: %q", encoding, got.Error)
		}
	}
}

// Many answers at a time fail too, until the others are closed, also those of less than a
// megabyte, for whose rest VUs may wait for long.
func TestAnswersAtATime(t *testing.T) {
	for _, size := range []int64{Max, 1<<20 - 1} {
		var all []*http.Response
		read := func() error {
			r := &http.Response{Header: http.Header{}, Body: io.NopCloser(io.LimitReader(zeros{}, size))}
			Limit(r, false)
			all = append(all, r)
			_, err := io.Copy(io.Discard, struct{ io.Reader }{r.Body})
			return err
		}
		for i := range maxOpen() / (size - uncounted) {
			if err := read(); err != nil {
				t.Errorf("answer %d of %d bytes: %v", i, size, err)
			}
		}
		if err := read(); err != errOpen {
			t.Errorf("one too many of %d bytes: %v", size, err)
		}
		for _, r := range all {
			_ = r.Body.Close()
		}
		if err := read(); err != nil {
			t.Errorf("after all of %d bytes were closed: %v", size, err)
		}
		_ = all[len(all)-1].Body.Close()
		if n := open.Load(); n != 0 {
			t.Errorf("%d bytes are counted after all", n)
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
