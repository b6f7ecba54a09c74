package clustertest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// validity is longer than any test.
const validity = 24 * time.Hour

// authority signs the certificates of a cluster. Its own is the file ca.crt in dir.
type authority struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	next int64 // serial number
}

func newAuthority(dir string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	a := &authority{dir: dir, key: key, next: 1}
	template := a.template("assay-test")
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		return nil, err
	}
	return a, writePEM(a.certificate(), "CERTIFICATE", der)
}

// certificate is the path of the authority's own certificate.
func (a *authority) certificate() string { return filepath.Join(a.dir, "ca.crt") }

func (a *authority) template(name string, groups ...string) *x509.Certificate {
	a.next++
	return &x509.Certificate{
		SerialNumber: big.NewInt(a.next),
		Subject:      pkix.Name{CommonName: name, Organization: groups},
		NotBefore:    time.Now().Add(-time.Minute), NotAfter: time.Now().Add(validity),
	}
}

// pair are the files of a certificate and its key.
type pair struct{ cert, key string }

// client makes the certificate of a user of the API.
func (a *authority) client(file, user string, groups ...string) (pair, error) {
	template := a.template(user, groups...)
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.issue(file, template)
}

// server makes the certificate of a server with these names and addresses.
func (a *authority) server(file string, names []string, addresses ...net.IP) (pair, error) {
	template := a.template(file)
	template.DNSNames, template.IPAddresses = names, addresses
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	return a.issue(file, template)
}

func (a *authority) issue(file string, template *x509.Certificate) (p pair, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return p, err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		return p, fmt.Errorf("sign certificate of %s: %w", file, err)
	}
	p = pair{cert: filepath.Join(a.dir, file+".crt"), key: filepath.Join(a.dir, file+".key")}
	if err := writePEM(p.cert, "CERTIFICATE", der); err != nil {
		return p, err
	}
	return p, writeKey(p.key, key)
}

// tokenKeys makes the keys that sign and verify the tokens of service accounts: cert is
// the public one.
func (a *authority) tokenKeys() (p pair, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return p, err
	}
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return p, err
	}
	p = pair{cert: filepath.Join(a.dir, "tokens.pub"), key: filepath.Join(a.dir, "tokens.key")}
	if err := writePEM(p.cert, "PUBLIC KEY", der); err != nil {
		return p, err
	}
	return p, writeKey(p.key, key)
}

func writeKey(path string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return writePEM(path, "EC PRIVATE KEY", der)
}

func writePEM(path, kind string, der []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}
