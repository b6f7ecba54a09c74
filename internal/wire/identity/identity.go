package identity

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net/netip"
	"strings"
	"time"

	"assay.dev/assay/internal/hint"
)

// Identity is a coordinator's certificate and private key.
type Identity struct {
	Certificate tls.Certificate
}

// Fingerprint identifies the key: "sha256:" and the SHA-256 of the certificate's
// SubjectPublicKeyInfo in hexadecimal, as in kubeadm's discovery.
func (i Identity) Fingerprint() string {
	return fingerprint(i.Certificate.Leaf.RawSubjectPublicKeyInfo)
}

func fingerprint(spki []byte) string { return fmt.Sprintf("%s%x", algorithm, sha256.Sum256(spki)) }

// Random makes a key for one run. hosts are the names and IP addresses of the
// certificate, for clients that trust it as a file.
func Random(hosts ...string) (Identity, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Identity{}, fmt.Errorf("make a TLS key: %w", err)
	}
	return selfSigned(key, hosts)
}

// FromToken makes the key that a token stands for: the same wherever it is computed.
// The certificate around the key differs.
func FromToken(token string, hosts ...string) (Identity, error) {
	key, err := derive(token)
	if err != nil {
		return Identity{}, err
	}
	return selfSigned(key, hosts)
}

// minToken is the fewest characters of a token: 128 random bits have 22 in base64, 26
// in base32 and 32 in hexadecimal. What is shorter was thought up, not drawn.
const minToken = 20

// CheckToken refuses a token that could be guessed, or that a header cannot carry.
func CheckToken(token string) error {
	const advice = "make one with: openssl rand -hex 32"
	if len(token) < minToken {
		return hint.With(fmt.Errorf("the token has %d characters, fewer than %d", len(token), minToken), advice)
	}
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return hint.With(errors.New("the token has a space or a character outside ASCII"), advice)
	}
	return nil
}

// derivation separates this use of the token from any other.
const derivation = "assay coordinator TLS key v1"

// derive computes a key as FIPS 186-5, A.2.1, from 64 bits more than the key has: the
// remainder modulo n-1 is then as good as uniform.
func derive(token string) (*ecdsa.PrivateKey, error) {
	if err := CheckToken(token); err != nil {
		return nil, err
	}
	curve := elliptic.P256()
	drawn, err := hkdf.Key(sha256.New, []byte(token), nil, derivation, 32+8)
	if err != nil {
		return nil, fmt.Errorf("derive the TLS key: %w", err)
	}
	one := big.NewInt(1)
	d := new(big.Int).SetBytes(drawn)
	d.Mod(d, new(big.Int).Sub(curve.Params().N, one)).Add(d, one)
	key, err := ecdsa.ParseRawPrivateKey(curve, d.FillBytes(make([]byte, 32)))
	if err != nil {
		return nil, fmt.Errorf("derive the TLS key: %w", err)
	}
	return key, nil
}

const (
	early    = 48 * time.Hour       // clients whose clock is behind
	validity = 366 * 24 * time.Hour // longer than any run
)

// selfSigned makes the certificate of a key. The keys are ECDSA on P-256 because every
// implementation of TLS 1.3 must verify it (RFC 8446, section 9.1). BoringSSL (gRPC,
// Envoy, browsers) and Windows do not accept Ed25519 as they come.
func selfSigned(key *ecdsa.PrivateKey, hosts []string) (Identity, error) {
	now := time.Now()
	template := x509.Certificate{
		Subject:   pkix.Name{CommonName: "assay coordinator"},
		NotBefore: now.Add(-early), NotAfter: now.Add(validity),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true, // no authority: rustls refuses one as a server
	}
	for _, h := range hosts {
		if ip, err := netip.ParseAddr(h); err == nil {
			template.IPAddresses = append(template.IPAddresses, ip.AsSlice())
		} else {
			template.DNSNames = append(template.DNSNames, h)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, key.Public(), crypto.Signer(key))
	if err != nil {
		return Identity{}, fmt.Errorf("make a TLS certificate: %w", err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return Identity{}, fmt.Errorf("make a TLS certificate: %w", err)
	}
	return Identity{tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}}, nil
}

// Load reads a certificate, followed by those of its authorities, and its key, both PEM.
func Load(certFile, keyFile string) (Identity, error) {
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		advice := "give a certificate and its private key, both as PEM"
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			advice = "give files that exist and that this user may read"
		}
		return Identity{}, hint.With(fmt.Errorf("load TLS certificate %s with key %s: %w", certFile, keyFile, err), advice)
	}
	if end := pair.Leaf.NotAfter; time.Now().After(end) {
		return Identity{}, hint.With(fmt.Errorf("TLS certificate %s expired on %s", certFile, end.UTC().Format(time.RFC3339)), "renew it")
	}
	return Identity{pair}, nil
}

// TLS is the coordinator's configuration.
func (i Identity) TLS() *tls.Config {
	return &tls.Config{
		Certificates: []tls.Certificate{i.Certificate},
		MinVersion:   tls.VersionTLS13,
		NextProtos:   []string{"http/1.1"},
	}
}
