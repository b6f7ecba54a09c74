package listen_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"assay.dev/assay/internal/wire"
	"assay.dev/assay/internal/wire/listen"
)

func TestListensOnLoopbackUnlessAsked(t *testing.T) {
	for _, address := range []string{"", ":0", "localhost:0", "127.0.0.1:0", "[::1]:0"} {
		s := start(t, func(o *listen.Options) { o.Address = address })
		if !s.Address().Addr().IsLoopback() {
			t.Errorf("%q listens on %s", address, s.Address())
		}
	}
	for _, address := range []string{"127.0.0.1", "nonsense:port", "203.0.113.1:0"} {
		if _, err := listen.Serve(listen.Options{Address: address, Authorize: hasToken}); err == nil {
			t.Errorf("%q: no error", address)
		}
	}
}

func TestToken(t *testing.T) {
	s := start(t, func(o *listen.Options) {
		o.Limits.Authorize = time.Hour // the answer closes the connection
		o.Handler = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if wire.Bearer(r) != token {
				t.Error("the handler does not see who sends")
			}
		})
	})
	for _, plain := range []bool{false, true} {
		for header, want := range map[string]string{
			"Authorization: Bearer " + token:                    "200",
			"authorization: bearer " + token:                    "200",
			"Authorization: Bearer " + token + "x":              "401",
			"Authorization: Bearer " + token[1:]:                "401",
			"Authorization: Basic " + token:                     "401",
			"Authorization: " + token:                           "401",
			"Authorization: Bearer":                             "401",
			"Authorization:":                                    "401",
			"X: Y":                                              "401",
			"X: " + strings.Repeat("y", 17<<10):                 "431",
			"X: Y\r\nTransfer-Encoding: gzip":                   "501",
			"X: Y\r\nContent-Length: 1\r\nExpect: 100-continue": "401", // not 100
			"X: Y\r\nContent-Length: 100000":                    "401", // without reading what does not come
		} {
			for _, request := range []string{"GET /", "POST /v1/metrics", "OPTIONS *"} {
				c := s.connect(t, "127.0.0.1", plain)
				before := s.handled.Load()
				if want == "200" {
					header += "\r\nConnection: close"
				}
				if _, err := fmt.Fprintf(c, "%s HTTP/1.1\r\nHost: a\r\n%s\r\n\r\n", request, header); err != nil {
					t.Fatal(err)
				}
				got := ends(t, c)
				if !strings.HasPrefix(got, "HTTP/1.1 "+want) || strings.Contains(got, " 100 ") {
					t.Errorf("%s, %.80q, plain %t: %q", request, header, plain, got)
				}
				if ran := s.handled.Load() > before; ran != (want == "200") {
					t.Errorf("%s, %.80q: handled: %t", request, header, ran)
				}
			}
		}
	}
	if n := s.Refused()[listen.NoToken]; n != 2*9*3 {
		t.Errorf("counted %d", n)
	}
}

// A token that was right before does not make a wrong one right.
func TestWrongTokenOnAKeptConnection(t *testing.T) {
	s := start(t, nil)
	c := s.connect(t, "127.0.0.1", false)
	in := bufio.NewReader(c)
	for i, want := range []int{http.StatusOK, http.StatusOK, http.StatusUnauthorized} {
		with := token + strings.Repeat("x", i/2) // the third is wrong
		if _, err := fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer %s\r\nContent-Length: 1\r\n\r\na", with); err != nil {
			t.Fatal(err)
		}
		got, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer got.Body.Close()
		if _, err := io.Copy(io.Discard, got.Body); err != nil || got.StatusCode != want || got.Close != (want != http.StatusOK) {
			t.Errorf("request %d: %+v, %v", i, got, err)
		}
	}
	if rest := ends(t, c); rest != "" {
		t.Errorf("after the wrong token: %q", rest)
	}
	if got := s.client(t, "127.0.0.1").post(t.Context(), "https", token, "/", strings.NewReader("a")); got.status != http.StatusOK {
		t.Errorf("a new connection: %+v", got)
	}
}

func TestPlainHTTPFromElsewhere(t *testing.T) {
	s := start(t, func(o *listen.Options) { o.Plain = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")} })
	defer s.beside(t, "127.0.0.2")()
	for from, want := range map[string]int{"127.0.0.1": http.StatusOK, "127.0.0.2": http.StatusBadRequest} {
		got := s.client(t, from).post(t.Context(), "http", token, "/", strings.NewReader("a"))
		if got.err != nil || got.status != want || want != http.StatusOK && (!got.closed || strings.Count(got.body, "\n") != 1) {
			t.Errorf("from %s: %+v", from, got)
		}
	}
	if s.Refused()[listen.PlainHTTP] != 1 {
		t.Errorf("counted %v", s.Refused())
	}
}

func gzipped(t testing.TB, body io.Reader) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.Copy(w, body); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// zstded compresses as a stream, whose header does not have the size.
func zstded(t testing.TB, body io.Reader) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(w, body); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestBodies(t *testing.T) {
	const small, large = 64 << 10, 1 << 20
	s := start(t, func(o *listen.Options) { o.Bodies["/large"] = large })
	of := func(n int64) io.Reader { return io.LimitReader(repeat('a'), n) }
	window := func(n int64) []byte { // with a window of 8 MiB, which the size does not need
		var b bytes.Buffer
		w, err := zstd.NewWriter(&b, zstd.WithWindowSize(8<<20), zstd.WithSingleSegment(false))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(w, of(n)); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	bomb := func() io.Reader { return io.LimitReader(repeat(0), 16*large) }
	for name, c := range map[string]struct {
		path, encoding string
		body           []byte
		status         int
		length         int64 // length of what the handler gets
	}{
		"none":                       {"/", "", nil, 200, 0},
		"identity":                   {"/", "identity", []byte("abc"), 200, 3},
		"at the limit":               {"/", "", bytes.Repeat([]byte("a"), small), 200, small},
		"over the limit":             {"/", "", bytes.Repeat([]byte("a"), small+1), 413, 0},
		"at another path's":          {"/large", "", bytes.Repeat([]byte("a"), large), 200, large},
		"over another path's":        {"/large", "", bytes.Repeat([]byte("a"), large+1), 413, 0},
		"gzip":                       {"/", "gzip", gzipped(t, of(small)), 200, small},
		"gzip over the limit":        {"/", "gzip", gzipped(t, of(small+1)), 413, 0},
		"gzip at another path's":     {"/large", "gzip", gzipped(t, of(large)), 200, large},
		"gzip of nothing":            {"/", "gzip", gzipped(t, of(0)), 200, 0},
		"gzip bomb":                  {"/large", "gzip", gzipped(t, bomb()), 413, 0},
		"gzip cut short":             {"/", "gzip", gzipped(t, of(small))[:30], 400, 0},
		"gzip that is none":          {"/", "gzip", []byte("plain text"), 400, 0},
		"zstd":                       {"/", "zstd", zstded(t, of(small)), 200, small},
		"zstd over the limit":        {"/", "zstd", zstded(t, of(small+1)), 413, 0},
		"zstd over a large window":   {"/", "zstd", zstded(t, of(9<<20)), 413, 0},
		"zstd with a large window":   {"/", "zstd", window(1000), 200, 1000},
		"zstd at another path's":     {"/large", "zstd", zstded(t, of(large)), 200, large},
		"zstd over another path's":   {"/large", "zstd", zstded(t, of(large+1)), 413, 0},
		"zstd bomb":                  {"/large", "zstd", zstded(t, bomb()), 413, 0},
		"zstd frames, too many":      {"/large", "zstd", bytes.Repeat(zstded(t, of(large/2)), 3), 413, 0},
		"zstd that is none":          {"/", "zstd", []byte("plain text"), 400, 0},
		"two encodings":              {"/", "gzip, zstd", []byte("abc"), 415, 0},
		"an encoding without a name": {"/", "br", []byte("abc"), 415, 0},
	} {
		for _, chunked := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/chunked %t", name, chunked), func(t *testing.T) {
				body := io.Reader(bytes.NewReader(c.body))
				if chunked {
					body = struct{ io.Reader }{body} // without its length
				}
				before := s.handled.Load()
				got := s.client(t, "127.0.0.1").post(t.Context(), "https", token, c.path, body, "Content-Encoding", c.encoding)
				if got.err != nil || got.status != c.status {
					t.Fatalf("answered %d %.200q, %v; want %d", got.status, got.body, got.err, c.status)
				}
				if ok := c.status == 200; ok && int64(len(got.body)) != c.length || !ok && (strings.Count(got.body, "\n") != 1 || !got.closed) {
					t.Errorf("answered with %d bytes: %.100q", len(got.body), got.body)
				}
				if ran := s.handled.Load() > before; ran != (c.status == 200) {
					t.Errorf("handled: %t", ran)
				}
			})
		}
	}
}
