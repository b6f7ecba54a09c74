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

	"assay/harness/observe/collect/host"
	"assay/harness/observe/collect/service"
)

// Limits of the looks at the target. What takes longer in quiet will not carry
// a load.
const (
	dialTimeout   = 3 * time.Second
	httpTimeout   = 1500 * time.Millisecond
	targetTimeout = 4 * time.Second // of all together
)

// Target is what answers at the target's address.
type Target struct {
	DNS    error // its name leads nowhere
	Dial   error // nothing listens
	TLS    error // the handshake failed, the certificate aside
	Trust  error // the certificate is not to be trusted
	HTTP   error // it does not answer in HTTP
	Status string
	Pool   service.Pool // of its database connections, as its metrics tell
	Here   bool         // on this machine
	Taken  int          // local ports that connections to it hold
}

// LookAtTarget resolves, connects, shakes hands and asks for the metrics, which
// the run asks for too: it is no request of load.
func LookAtTarget(ctx context.Context, u *url.URL) (t Target) {
	ctx, cancel := context.WithTimeout(ctx, targetTimeout)
	defer cancel()
	name, port := u.Hostname(), Port(u)
	ips, err := net.DefaultResolver.LookupIP(ctx, "ip", name)
	if err != nil {
		t.DNS = err
		return t
	}
	t.Here = host.Own(ctx, name)
	dialer := net.Dialer{Timeout: dialTimeout}
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(name, port))
	if err != nil {
		t.Dial = err
		return t
	}
	if n, err := strconv.Atoi(port); err == nil {
		t.Taken = taken(ctx, ips, n)
	}
	if u.Scheme == "https" {
		t.TLS, t.Trust = shakeHands(ctx, conn, name)
	}
	_ = conn.Close()
	if t.TLS == nil {
		t.Status, t.Pool, t.HTTP = ask(ctx, u)
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

// shakeHands tells a certificate that is not trusted from a handshake that
// fails in another way.
func shakeHands(ctx context.Context, conn net.Conn, name string) (failed, trust error) {
	err := tls.Client(conn, &tls.Config{ServerName: name}).HandshakeContext(ctx)
	var untrusted *tls.CertificateVerificationError
	if errors.As(err, &untrusted) {
		return nil, untrusted.Err
	}
	return err, nil
}

// maxAnswer bounds what is read of the metrics.
const maxAnswer = 4 << 20

// ask tells whether HTTP is spoken there, whatever the answer.
func ask(ctx context.Context, u *url.URL) (status string, pool service.Pool, err error) {
	ctx, cancel := context.WithTimeout(ctx, httpTimeout)
	defer cancel()
	client := &http.Client{
		Transport: &http.Transport{
			DisableKeepAlives: true,
			// Trust is judged apart; nothing secret is sent.
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		},
		// A redirect could lead anywhere.
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
		body, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswer)) // half an answer has no pool
		pool = service.PoolIn(body)
	}
	return resp.Status, pool, nil
}
