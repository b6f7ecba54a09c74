package identity

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"

	"assay.dev/assay/internal/hint"
)

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
		InsecureSkipVerify: true,
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
	derived, err := tokenFingerprint(token)
	if err != nil {
		derived = "none, for " + err.Error()
	}
	if got == derived {
		return nil
	}
	authorities := x509.NewCertPool()
	for _, c := range shown[1:] {
		authorities.AddCert(c)
	}
	if _, err = leaf.Verify(x509.VerifyOptions{DNSName: a.Host, Intermediates: authorities}); err == nil {
		return nil
	}
	return hint.With(
		fmt.Errorf("the coordinator at %s has the key %s, not the token's (%s), and its certificate is not trusted: %w", a.URL, got, derived, err),
		"compare ASSAY_JOIN_TOKEN with the coordinator's; if the coordinator chose the token, add the fingerprint of its join line to the URL: #sha256:...",
	)
}

// tokenFingerprint is the fingerprint of the key that a token stands for.
func tokenFingerprint(token string) (string, error) {
	key, err := derive(token)
	if err != nil {
		return "", err
	}
	spki, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return "", fmt.Errorf("derive the TLS key: %w", err)
	}
	return fingerprint(spki), nil
}
