package identity_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/wire/identity"
)

// ca is an authority of certificates.
type ca struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// authority is the only one that the system trusts in these tests, foreign one that it
// does not.
var authority, foreign ca

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "identity")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	authority, foreign = newCA(), newCA()
	file := filepath.Join(dir, "authority.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authority.cert.Raw}), 0o600); err != nil {
		panic(err)
	}
	for name, value := range map[string]string{"SSL_CERT_FILE": file, "SSL_CERT_DIR": dir} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	return m.Run()
}

func newCA() ca {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := x509.Certificate{
		Subject: pkix.Name{CommonName: "authority"}, SerialNumber: big.NewInt(1),
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, key.Public(), key)
	if err != nil {
		panic(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		panic(err)
	}
	return ca{cert, key}
}

// issue makes a certificate for a host.
func (a ca) issue(t *testing.T, host string, until time.Time) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := x509.Certificate{
		SerialNumber: big.NewInt(2), NotBefore: until.Add(-24 * time.Hour), NotAfter: until,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{host}
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, a.cert, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der, a.cert.Raw}, PrivateKey: key, Leaf: leaf}
}

// connect makes a TLS connection over a socket and says whether the client accepts it.
func connect(t *testing.T, server, client *tls.Config) error {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() {
		served <- func() error {
			socket, err := listener.Accept()
			if err != nil {
				return err
			}
			c := tls.Server(socket, server)
			_, _ = c.Write([]byte("x")) // fails where the client does
			return c.Close()
		}()
	}()
	socket, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c := tls.Client(socket, client)
	_, failed := c.Read(make([]byte, 1))
	_ = c.Close()
	<-served
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	return failed
}

func TestTrust(t *testing.T) {
	day := time.Now().Add(time.Hour)
	servers := map[string]identity.Identity{
		"random":      random(t),
		"token":       fromToken(t, token),
		"other token": fromToken(t, "another-token-of-some-length"),
		"authority":   {Certificate: authority.issue(t, "coordinator.example", day)},
		"address":     {Certificate: authority.issue(t, "192.0.2.7", day)},
		"expired":     {Certificate: authority.issue(t, "coordinator.example", day.Add(-48*time.Hour))},
		"foreign":     {Certificate: foreign.issue(t, "coordinator.example", day)},
	}
	clients := map[string]struct {
		host, token string
		pin         string   // the server whose fingerprint is expected
		accepts     []string // servers
	}{
		"pin of the random key":  {"coordinator.example", token, "random", []string{"random"}},
		"pin of the token's key": {"coordinator.example", "not-the-token-of-the-run", "token", []string{"token"}},
		"pin of a given key":     {"elsewhere.example", token, "authority", []string{"authority"}},
		"pin of a foreign key":   {"coordinator.example", token, "foreign", []string{"foreign"}},
		"token and name":         {"coordinator.example", token, "", []string{"token", "authority"}},
		"token and address":      {"192.0.2.7", token, "", []string{"token", "address"}},
		"other name":             {"elsewhere.example", token, "", []string{"token"}},
		"short token":            {"coordinator.example", "short", "", []string{"authority"}},
		"no token":               {"elsewhere.example", "", "", nil},
	}
	for name, c := range clients {
		for shown, server := range servers {
			t.Run(name+"/"+shown, func(t *testing.T) {
				a := identity.Address{URL: "https://" + c.host, Host: c.host}
				if c.pin != "" {
					a.Fingerprint = servers[c.pin].Fingerprint()
				}
				err := connect(t, server.TLS(), a.TLS(c.token))
				accepted := fmt.Sprintf("%q", c.accepts)
				if want := strings.Contains(accepted, `"`+shown+`"`); (err == nil) != want {
					t.Fatalf("accepted: %t, want %t: %v", err == nil, want, err)
				}
				if err == nil {
					return
				}
				if says := err.Error(); !strings.Contains(says, server.Fingerprint()) || !strings.Contains(says, c.host) ||
					!strings.Contains(says, a.Fingerprint) || strings.Contains(says, "\n") || c.token != "" && strings.Contains(says, c.token) {
					t.Errorf("the error is: %s", says)
				}
				if hint.Of(err) == "" {
					t.Errorf("no hint: %v", err)
				}
			})
		}
	}
}

func TestClientSpeaksTLS13Only(t *testing.T) {
	i := random(t)
	old := i.TLS()
	old.MinVersion, old.MaxVersion = tls.VersionTLS12, tls.VersionTLS12
	if err := connect(t, old, identity.Address{Fingerprint: i.Fingerprint()}.TLS(token)); err == nil {
		t.Error("accepted TLS 1.2")
	}
}

// A session that was accepted once is not accepted for another fingerprint.
func TestResumedSession(t *testing.T) {
	i := random(t)
	server, sessions := i.TLS(), tls.NewLRUClientSessionCache(1)
	for _, c := range []struct {
		fingerprint string
		ok          bool
	}{{i.Fingerprint(), true}, {i.Fingerprint(), true}, {random(t).Fingerprint(), false}} {
		client := identity.Address{Host: "coordinator.example", Fingerprint: c.fingerprint}.TLS(token)
		client.ClientSessionCache = sessions
		resumed, verify := false, client.VerifyConnection
		client.VerifyConnection = func(s tls.ConnectionState) error {
			resumed = resumed || s.DidResume
			return verify(s)
		}
		if err := connect(t, server, client); (err == nil) != c.ok {
			t.Errorf("%s, resumed %t: %v", c.fingerprint, resumed, err)
		}
		if !c.ok && !resumed {
			t.Error("the session was not resumed")
		}
	}
}
