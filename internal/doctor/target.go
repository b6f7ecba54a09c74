package doctor

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/procfs"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/observe/collect"
	"assay.dev/assay/internal/observe/collect/host"
	"assay.dev/assay/internal/observe/collect/service"
	"assay.dev/assay/internal/observe/influx"
	"assay.dev/assay/internal/spec"
)

// ownSecret is where a secret of the script belongs, as the target is in the certificate.
const ownSecret = "a script reads what it logs in with from a file: open('token.txt')"

// parseTarget parses a target before anything is sent to it. It returns nil and a finding
// if the target is malformed or not allowed.
func parseTarget(target string, file spec.File, allowed []string) (*url.URL, Finding) {
	c := check{name: CheckTarget, remedy: "omit it, like --target http://127.0.0.1:8080; " + ownSecret}
	u, err := url.Parse(target)
	switch {
	case strings.Contains(target, "@"):
		// A password would appear in the record, and on the command line of every worker.
		c.observed, c.needed, c.remedy = "a URL with a user or password", "a URL without them", "omit them, like --target http://127.0.0.1:8080; "+ownSecret
		return nil, c.fail("the target's URL contains a user or password")
	case strings.ContainsAny(target, "?#"):
		// So would a token; and scripts add their paths to the target.
		c.observed, c.needed = "a URL with a query or fragment", "a base URL"
		return nil, c.fail("the target's URL has a query or fragment")
	case mask.Holds(target):
		c.observed, c.needed = "a URL with a secret", "a URL without one"
		return nil, c.fail("the target's URL holds a secret, in its path or of the environment")
	case err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https":
		// It is not shown: a secret may be in any part of it.
		c.observed, c.needed, c.remedy = "something else", "a URL", "like --target http://127.0.0.1:8080"
		return nil, c.fail("the target is not an http or https URL")
	case !file.Allows(u.Hostname(), allowed):
		c = check{CheckTarget, target, "a host that is allowed", fmt.Sprintf("list it in \"targets\" of %s, or allow it with --allow-target %s", file.Path, u.Hostname())}
		return nil, c.fail("target host %s is not allowed: a load test aimed at the wrong system is an outage", u.Hostname())
	}
	return u, Finding{}
}

// TargetURL checks the target's URL only, and sends nothing. There is no finding if load
// may be sent there.
func TargetURL(s Subject) Findings {
	if u, refused := parseTarget(s.Target, s.File, s.AllowHosts); u == nil {
		return Findings{refused}
	}
	return nil
}

// scriptOptions are the connection options of all scripts together.
type scriptOptions struct {
	skipVerify bool            // no script verifies the target's certificate
	clientTLS  bool            // a script has a client certificate
	mapsHosts  bool            // a script maps names to addresses itself
	reconnects map[string]bool // by profile
}

func target(u *url.URL, t Target, c scriptOptions) Finding {
	at := u.String()
	const needed = "reachable and responding"
	// A script with options of its own may succeed where the probe did not.
	unreachable := func(ownOptions bool, observed, why, remedy string) Finding {
		f := fail(CheckTarget, observed, needed, fmt.Sprintf("target %s cannot be reached: %s", at, why), remedy)
		if ownOptions {
			f.State = Warning
		}
		return f
	}
	switch {
	case t.DNS != nil:
		return unreachable(c.mapsHosts, reason(t.DNS), "DNS: "+reason(t.DNS), "check how the name is resolved: getent hosts "+u.Hostname())
	case t.Dial != nil:
		return unreachable(c.mapsHosts, reason(t.Dial), reason(t.Dial), "start the service, or name another one with --target")
	case t.TLS != nil:
		return unreachable(c.clientTLS, "TLS: "+reason(t.TLS), "TLS handshake: "+reason(t.TLS),
			"check it with: openssl s_client -connect "+u.Hostname()+":"+Port(u))
	case t.Trust != nil && c.skipVerify:
		f := check{CheckTarget, reason(t.Trust), needed, "leave insecureSkipTLSVerify out of the script's options"}.warn(
			"the certificate of target %s is not trusted (%s), and the script does not verify it", at, reason(t.Trust),
		)
		f.Limitation = f.Why
		return f
	case t.Trust != nil:
		return fail(CheckTarget, reason(t.Trust), needed, fmt.Sprintf("the certificate of target %s is not trusted: %s", at, reason(t.Trust)),
			"name its authority: export SSL_CERT_FILE=ca.pem; or set insecureSkipTLSVerify in the script's options")
	case t.HTTP != nil:
		return warn(CheckTarget, "no HTTP: "+reason(t.HTTP), needed,
			fmt.Sprintf("target %s does not respond in HTTP: %s", at, reason(t.HTTP)), "check its response: curl -v "+u.JoinPath("metrics").String())
	}
	return pass(CheckTarget, at+" answers", needed)
}

// CheckInstances is the check of the service's instances, in a cluster.
const CheckInstances = "instances"

// instances judges the instances of the target's Service, NAMESPACE/NAME. Without a right to
// list them, its metrics are those of one instance at a time.
func instances(service string, urls []string, err error) Finding {
	needed := "at least one that is ready"
	switch {
	case err != nil:
		return warn(CheckInstances, reason(err), needed, "the service's metrics cannot be read from each instance: "+err.Error(), hint.Of(err))
	case len(urls) == 0:
		namespace, _, _ := strings.Cut(service, "/")
		return fail(CheckInstances, "none", needed, fmt.Sprintf("the target's Service %s has no pod that is ready", service), "kubectl get endpointslices,pods --namespace "+namespace)
	}
	return pass(CheckInstances, fmt.Sprintf("%d ready", len(urls)), needed)
}

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

// examineTarget resolves the name, connects, performs the TLS handshake, and requests the
// metrics. It sends no request of the load; the run requests the metrics too.
func examineTarget(ctx context.Context, u *url.URL) (t Target) {
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

// maxBody bounds the bytes read of the metrics.
const maxBody = 4 << 20

// requestMetrics checks for an HTTP response, of any status, and reads the connection
// pool from it.
func requestMetrics(ctx context.Context, u *url.URL) (status string, pool service.Pool, err error) {
	ctx, cancel := context.WithTimeout(ctx, httpTimeout)
	defer cancel()
	client, transport := collect.Client(dialTimeout)
	transport.DisableKeepAlives = true
	transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true} //nolint:gosec // trust is judged separately; nothing secret is sent
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

// influxTimeout bounds the requests to the view's server.
const influxTimeout = 3 * time.Second

// View is the state of the view's server.
type View struct {
	Name string // host and database; "" if the address is malformed
	Err  error  // why points cannot be written, with a hint
}

// examineInflux checks whether the server accepts points, as a run does. Like a run it
// creates the database if it is missing.
func examineInflux(ctx context.Context, address, token string) (i View) {
	server, err := influx.NewServer(address, token)
	if err != nil {
		i.Err = err
		return i
	}
	defer server.Close()
	ctx, cancel := context.WithTimeout(ctx, influxTimeout)
	defer cancel()
	i.Name, i.Err = server.String(), server.Check(ctx)
	return i
}
