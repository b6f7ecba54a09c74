package probe

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/prometheus/procfs"

	"assay.dev/assay/internal/observe/collect/host"
	"assay.dev/assay/internal/observe/collect/service"
)

// Timeouts for the target. An idle target that takes longer cannot sustain a load.
const (
	dialTimeout   = 3 * time.Second
	httpTimeout   = 1500 * time.Millisecond
	targetTimeout = 4 * time.Second // in total
)

// Target is the state of the target.
type Target struct {
	DNS    error // its name cannot be resolved
	Dial   error // nothing listens
	TLS    error // the handshake failed, for another reason than the certificate
	Trust  error // the certificate is not trusted
	HTTP   error // it does not respond in HTTP
	Status string
	Pool   service.Pool // its database connection pool, from its metrics
	Local  bool         // on this machine
	Taken  int          // local ports that connections to it hold
}

// ExamineTarget resolves the name, connects, performs the TLS handshake, and requests the
// metrics. It sends no request of the load; the run requests the metrics too.
func ExamineTarget(ctx context.Context, u *url.URL) (t Target) {
	ctx, cancel := context.WithTimeout(ctx, targetTimeout)
	defer cancel()
	name, port := u.Hostname(), Port(u)
	ips, err := net.DefaultResolver.LookupIP(ctx, "ip", name)
	if err != nil {
		t.DNS = err
		return t
	}
	t.Local = host.IsLocal(ctx, name)
	dialer := net.Dialer{Timeout: dialTimeout}
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(name, port))
	if err != nil {
		t.Dial = err
		return t
	}
	if n, err := strconv.Atoi(port); err == nil {
		t.Taken = taken(procfs.DefaultMountPoint, ips, n)
	}
	if u.Scheme == "https" {
		t.TLS, t.Trust = handshake(ctx, conn, name)
	}
	_ = conn.Close()
	if t.TLS == nil {
		t.Status, t.Pool, t.HTTP = requestMetrics(ctx, u)
	}
	return t
}

// Port is the port of an http or https URL.
func Port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	return map[string]string{"http": "80", "https": "443"}[u.Scheme]
}

// handshake performs a TLS handshake, and returns an untrusted certificate separately
// from any other failure.
func handshake(ctx context.Context, conn net.Conn, name string) (failed, trust error) {
	err := tls.Client(conn, &tls.Config{ServerName: name}).HandshakeContext(ctx)
	var untrusted *tls.CertificateVerificationError
	if errors.As(err, &untrusted) {
		return nil, untrusted.Err
	}
	return err, nil
}

// Bounds of the bytes read of the metrics.
const (
	maxBody   = 4 << 20
	maxHeader = 64 << 10
)

// requestMetrics checks for an HTTP response, of any status, and reads the connection
// pool from it.
func requestMetrics(ctx context.Context, u *url.URL) (status string, pool service.Pool, err error) {
	ctx, cancel := context.WithTimeout(ctx, httpTimeout)
	defer cancel()
	client := &http.Client{
		Transport: &http.Transport{
			DisableKeepAlives:      true,
			MaxResponseHeaderBytes: maxHeader,
			// Trust is judged separately; nothing secret is sent.
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		},
		// A redirect could lead to a host that is not allowed.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.JoinPath("metrics").String(), http.NoBody)
	if err != nil {
		return "", pool, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", pool, err
	}
	defer func() { _ = resp.Body.Close() }() // read only
	if resp.StatusCode == http.StatusOK {
		body, _ := io.ReadAll(io.LimitReader(resp.Body, maxBody)) // a truncated body has no pool
		pool = service.PoolIn(body)
	}
	return resp.Status, pool, nil
}
