package identity

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"assay.dev/assay/internal/hint"
)

// algorithm begins every fingerprint.
const algorithm = "sha256:"

// Address is where a worker finds its coordinator:
// https://HOST:PORT#sha256:FINGERPRINT, the fingerprint as Identity.Fingerprint has it,
// or without one.
type Address struct {
	URL         string // scheme, host and port
	Host        string // without port and brackets
	Fingerprint string // empty: none
}

// ParseAddress reads an address. Errors do not quote it: a token could have been pasted
// into it.
func ParseAddress(text string) (Address, error) {
	a, err := parseAddress(text)
	return a, hint.With(err, "copy the URL from the coordinator's join line: https://HOST:PORT#sha256:FINGERPRINT")
}

func parseAddress(text string) (Address, error) {
	base, fragment, found := strings.Cut(text, "#")
	// An empty fragment is refused: with a variable that was not set, it would
	// silently be an address without a fingerprint.
	if found && !isFingerprint(fragment) {
		return Address{}, errors.New("the coordinator's URL must have sha256: and 64 digits, 0 to 9 and a to f, after #")
	}
	u, err := url.Parse(base)
	switch {
	case err != nil:
		return Address{}, errors.New("the coordinator's URL is malformed")
	case u.Scheme != "https" && u.Scheme != "http":
		return Address{}, errors.New("the coordinator's URL must begin with https://")
	case u.User != nil || strings.Contains(base, "?") || u.Opaque != "" || u.Path != "" && u.Path != "/":
		return Address{}, errors.New("the coordinator's URL must have scheme, host and port only")
	case !isHost(u.Hostname()):
		return Address{}, errors.New("the coordinator's URL has no host, or a malformed one")
	case !isPort(u.Port()) && (u.Port() != "" || strings.HasSuffix(u.Host, ":")):
		return Address{}, errors.New("the coordinator's URL has a port outside 1 to 65535")
	case u.Scheme == "http" && (found || !isLoopback(u.Hostname())):
		return Address{}, errors.New("the coordinator's URL must be https; http is for this host only, without a fingerprint")
	}
	site := url.URL{Scheme: u.Scheme, Host: u.Host}
	return Address{URL: site.String(), Host: u.Hostname(), Fingerprint: fragment}, nil
}

func (a Address) String() string {
	if a.Fingerprint == "" {
		return a.URL
	}
	return a.URL + "#" + a.Fingerprint
}

func isFingerprint(s string) bool {
	digits, ok := strings.CutPrefix(s, algorithm)
	return ok && len(digits) == 64 && strings.Trim(digits, "0123456789abcdef") == ""
}

func isPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n > 0
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// isHost: an IP address, or a name.
func isHost(s string) bool {
	if ip, err := netip.ParseAddr(s); err == nil {
		return isName(ip.Zone()) || ip.Zone() == ""
	}
	return isName(s)
}

func isName(s string) bool {
	return s != "" && len(s) <= 253 && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.' || r == '_')
	})
}

// TLS is the configuration of a worker; a plain HTTP address needs none. With a
// fingerprint, the coordinator must have that key, and nothing else counts. Without
// one, it must have the key that the token stands for, or a certificate for the host of
// an authority that this system trusts (SSL_CERT_FILE and SSL_CERT_DIR name others).
func (a Address) TLS(token string) *tls.Config {
	return &tls.Config{
		ServerName: a.Host,
		MinVersion: tls.VersionTLS13,
		NextProtos: []string{"http/1.1"},
		// VerifyConnection replaces the standard check, which knows authorities only,
		// and runs for resumed sessions too.
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection replaces it
		VerifyConnection: func(s tls.ConnectionState) error {
			return a.verify(s.PeerCertificates, token)
		},
	}
}

func (a Address) verify(shown []*x509.Certificate, token string) error {
	leaf := shown[0] // TLS 1.3 has no server without a certificate
	got := fingerprint(leaf.RawSubjectPublicKeyInfo)
	if a.Fingerprint != "" {
		if got == a.Fingerprint {
			return nil
		}
		return hint.With(fmt.Errorf("the coordinator at %s presented the key %s, expected %s", a.URL, got, a.Fingerprint),
			"copy the join line of this run: each run may have another key")
	}
	derived := ""
	if i, err := FromToken(token); err != nil {
		derived = "none, for " + err.Error()
	} else {
		derived = i.Fingerprint()
	}
	if got == derived {
		return nil
	}
	authorities := x509.NewCertPool()
	for _, c := range shown[1:] {
		authorities.AddCert(c)
	}
	_, err := leaf.Verify(x509.VerifyOptions{DNSName: a.Host, Intermediates: authorities})
	if err == nil {
		return nil
	}
	return hint.With(
		fmt.Errorf("the coordinator at %s has the key %s, not the token's (%s), and its certificate is not trusted: %w", a.URL, got, derived, err),
		"compare ASSAY_JOIN_TOKEN with the coordinator's; if the coordinator chose the token, add the fingerprint of its join line to the URL: #sha256:...",
	)
}
