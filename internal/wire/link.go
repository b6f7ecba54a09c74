package wire

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/mask"
)

// Environment variables that make a k6 process a worker. They are removed from the
// environment before k6 starts, so that scripts do not see the token.
const (
	EnvURL    = "ASSAY_COORDINATOR" // URL of the worker's parent process
	EnvToken  = "ASSAY_COORDINATOR_TOKEN"
	EnvSource = "ASSAY_SOURCE"
	EnvOffset = "ASSAY_CLOCK_OFFSET" // by which the machine's clock is ahead of the coordinator's, like 1.5s
)

// Link is one worker's client.
type Link struct {
	Source string
	Offset time.Duration // by which the machine's clock is ahead of the coordinator's
	url    string
	bearer string
	client *http.Client
	remote bool // bodies are compressed
}

// FromEnvironment makes the link that the environment describes, or nil if the
// variables are not set, and removes them.
func FromEnvironment() *Link {
	url, token, source, offset := os.Getenv(EnvURL), os.Getenv(EnvToken), os.Getenv(EnvSource), os.Getenv(EnvOffset)
	for _, name := range []string{EnvURL, EnvToken, EnvSource, EnvOffset} {
		_ = os.Unsetenv(name) // fails for malformed names only
	}
	if url == "" {
		return nil
	}
	l := New(url, token, nil)
	l.Source = source
	l.Offset, _ = time.ParseDuration(offset) // not set: 0
	return l
}

// New makes a link to a coordinator. config is for HTTPS; nil: the system's authorities.
func New(url, bearer string, config *tls.Config) *Link {
	// A transport of its own: k6 tunes the default one, and a proxy of the environment
	// must not see the token.
	transport := &http.Transport{MaxIdleConnsPerHost: 2, MaxResponseHeaderBytes: 64 << 10, TLSClientConfig: config}
	return &Link{url: strings.TrimSuffix(url, "/"), bearer: bearer, client: &http.Client{
		Transport: transport,
		// A coordinator leads nowhere else.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// As is the link of a worker that has joined.
func (l *Link) As(a Assignment) *Link {
	worker := *l
	worker.Source, worker.bearer, worker.remote = a.Source, a.Credential, true
	return &worker
}

// URL is the coordinator's.
func (l *Link) URL() string { return l.url }

// Close closes the connections that are not in use.
func (l *Link) Close() { l.client.CloseIdleConnections() }

// RefusedError is a 4xx response, which a retry would not change.
type RefusedError struct {
	Status int
	Reason string
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("coordinator refused (%d): %s", e.Status, e.Reason)
}

// Retry repeats send until it succeeds, is refused, or ctx is done. each bounds an attempt.
func Retry(ctx context.Context, each time.Duration, send func(context.Context) error) error {
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		try, cancel := context.WithTimeout(ctx, each)
		err := send(try)
		cancel()
		var refused *RefusedError
		if err == nil || errors.As(err, &refused) || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
}

// Join asks for a share. The assignment is nil while workers are missing: then Join is
// to be called again.
func (l *Link) Join(ctx context.Context, h Hello) (a *Assignment, waiting Waiting, err error) {
	answer, err := l.postJSON(ctx, PathJoin, h)
	if err != nil {
		return nil, Waiting{}, err
	}
	if answer.status == http.StatusAccepted {
		err = json.Unmarshal(answer.body, &waiting)
	} else {
		err = json.Unmarshal(answer.body, &a)
	}
	if err != nil {
		return nil, Waiting{}, fmt.Errorf("join: %w", err)
	}
	return a, waiting, nil
}

// Archive fetches the script.
func (l *Link) Archive(ctx context.Context) ([]byte, error) {
	answer, err := l.do(ctx, message{method: http.MethodGet, path: PathArchive})
	return answer.body, err
}

// Ready reports that the worker has initialised.
func (l *Link) Ready(ctx context.Context, r Ready) error {
	_, err := l.postJSON(ctx, PathReady, r)
	return err
}

// Start waits for the common start. The response is nil while other workers are not
// ready: then Start is to be called again.
func (l *Link) Start(ctx context.Context, setup json.RawMessage) (*StartResponse, error) {
	answer, err := l.postJSON(ctx, PathStart, StartRequest{Setup: setup})
	if err == nil && answer.status == http.StatusAccepted {
		return nil, nil // not yet
	}
	var s StartResponse
	if err == nil {
		err = json.Unmarshal(answer.body, &s)
	}
	if err != nil {
		return nil, fmt.Errorf("wait for start: %w", err)
	}
	return &s, nil
}

// Frames sends encoded frames once. The clock is known only to the parent process of a
// worker, which answers its k6.
func (l *Link) Frames(ctx context.Context, body []byte) (*Clock, error) {
	answer, err := l.do(ctx, message{path: PathMetrics, kind: "application/x-protobuf", body: body, compress: true})
	if err != nil {
		return nil, err
	}
	text := answer.header.Get(HeaderClock)
	if text == "" {
		return nil, nil // not known
	}
	c := &Clock{}
	if err := json.Unmarshal([]byte(text), c); err != nil {
		return nil, fmt.Errorf("read the worker's clock: %w", err)
	}
	return c, nil
}

// Acknowledged sends encoded ledger entries once.
func (l *Link) Acknowledged(ctx context.Context, sequence uint64, body []byte) error {
	_, err := l.do(ctx, message{path: PathAcknowledged, kind: "text/plain", body: body, compress: true, headers: map[string]string{
		HeaderSource: l.Source, HeaderSequence: strconv.FormatUint(sequence, 10),
	}})
	return err
}

// Heartbeat says that the worker lives, and asks for the coordinator's clock.
func (l *Link) Heartbeat(ctx context.Context) (p Pulse, err error) {
	answer, err := l.do(ctx, message{path: PathHeartbeat})
	if err == nil {
		err = json.Unmarshal(answer.body, &p)
	}
	if err != nil {
		return Pulse{}, fmt.Errorf("heartbeat: %w", err)
	}
	return p, nil
}

// Log sends a part of the worker's log that begins at offset, in bytes.
func (l *Link) Log(ctx context.Context, offset int64, text []byte) error {
	_, err := l.do(ctx, message{path: PathLog, kind: "text/plain", body: text, compress: true, headers: map[string]string{
		HeaderOffset: strconv.FormatInt(offset, 10),
	}})
	return err
}

// Exit says how the worker ended.
func (l *Link) Exit(ctx context.Context, e Exit) error {
	_, err := l.postJSON(ctx, PathExit, e)
	return err
}

// message is a request.
type message struct {
	method   string // empty: POST
	path     string
	kind     string // Content-Type
	body     []byte
	headers  map[string]string
	compress bool
}

// answer is a successful response.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// compressFrom is the size of a body from which it is compressed, bytes.
const compressFrom = 4 << 10

var encoder, _ = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest)) // fails for wrong options only

func (l *Link) postJSON(ctx context.Context, path string, content any) (answer, error) {
	body, err := json.Marshal(content)
	if err != nil {
		return answer{}, fmt.Errorf("encode message: %w", err)
	}
	return l.do(ctx, message{path: path, kind: "application/json", body: body})
}

// maxReason bounds the reason of a refusal, bytes.
const maxReason = 4 << 10

// Bounds of a response, bytes. The longest are the archive of a script with its data, and the
// result of setup(); of the others an assignment, with about 140 bytes a stage, of which a
// thresholds file has room for 47,000.
const (
	maxAnswer = 8 << 20
	maxLong   = MaxArchive + maxAnswer
)

// MaxArchive bounds the archive of a script, bytes.
const MaxArchive = 256 << 20

// MaxInit is the memory of a k6 that only initialises a script or makes its archive, in bytes.
// One VU of a script whose files fill an archive takes less.
const MaxInit = 2 << 30

func (l *Link) do(ctx context.Context, m message) (answer, error) {
	if m.method == "" {
		m.method = http.MethodPost
	}
	encoding := ""
	if l.remote && m.compress && len(m.body) >= compressFrom {
		m.body, encoding = encoder.EncodeAll(m.body, nil), "zstd"
	}
	req, err := http.NewRequestWithContext(ctx, m.method, l.url+m.path, bytes.NewReader(m.body))
	if err != nil {
		return answer{}, fmt.Errorf("send to coordinator: %w", err)
	}
	set := func(name, value string) {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	set("Content-Type", m.kind)
	set("Content-Encoding", encoding)
	set("Authorization", "Bearer "+l.bearer)
	for k, v := range m.headers {
		set(k, v)
	}
	resp, err := l.client.Do(req)
	if err != nil {
		return answer{}, fmt.Errorf("send to coordinator: %w", foreign.Line(err))
	}
	most := maxAnswer
	if m.path == PathArchive || m.path == PathStart {
		most = maxLong
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(most)+1))
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return answer{}, fmt.Errorf("read coordinator's answer: %w", foreign.Line(err))
	}
	switch {
	case len(body) > most:
		return answer{}, fmt.Errorf("read coordinator's answer: it has more than %d bytes", most)
	case resp.StatusCode < 300:
		return answer{resp.StatusCode, resp.Header, body}, nil
	case resp.StatusCode < 400, resp.StatusCode < 500 && strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html"):
		return answer{}, hint.With(fmt.Errorf("no coordinator answers there: %s", foreign.Status(resp)), "check the URL: copy the line that the coordinator prints")
	case resp.StatusCode < 500 && resp.StatusCode != http.StatusTooManyRequests:
		return answer{}, &RefusedError{resp.StatusCode, cmp.Or(mask.Line(string(body), maxReason), foreign.Status(resp))}
	}
	return answer{}, fmt.Errorf("coordinator answered %s", foreign.Status(resp))
}
