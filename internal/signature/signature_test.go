package signature

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	"pgregory.net/rapid"

	"assay.dev/assay/internal/hint"
)

// pair makes a key of a kind.
func pair(t testing.TB, kind Kind) PrivateKey {
	t.Helper()
	private, public, err := Generate(kind)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ParsePrivate(private)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := ParsePublic(public)
	if err != nil {
		t.Fatal(err)
	}
	if parsed.ID() != key.Public().ID() || parsed.Kind() != kind {
		t.Fatalf("the two halves of a %s key pair do not match", kind)
	}
	return key
}

const certificate = `{
  "claim": "p(95)<250 & more",
  "seed": 18446744073709551615
}
`

func digestOf(data string) string {
	sum := sha256.Sum256([]byte(data))
	return hex.EncodeToString(sum[:])
}

func sign(t testing.TB, key PrivateKey) []byte {
	t.Helper()
	data, err := Sign(key, []byte(certificate), digestOf("manifest"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// A signed statement is read back byte for byte, for every kind of key.
func TestRoundTrip(t *testing.T) {
	for _, kind := range Kinds {
		key := pair(t, kind)
		b, err := Open(sign(t, key))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(b.Statement.Predicate) + "\n"; got != certificate {
			t.Errorf("%s: the predicate is %s", kind, got)
		}
		if b.Statement.ManifestSHA256 != digestOf("manifest") || b.KeyID != key.Public().ID() {
			t.Errorf("%s: %+v", kind, b)
		}
		if err := b.Verify(key.Public()); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		for _, other := range Kinds {
			err := b.Verify(pair(t, other).Public())
			if err == nil || !strings.Contains(err.Error(), "another key") {
				t.Errorf("a bundle of a %s key, verified with another %s key: %v", kind, other, err)
			}
		}
	}
}

// A bundle that names another key than its signing key is not valid.
func TestWrongKeyHint(t *testing.T) {
	for _, kind := range Kinds {
		key, other := pair(t, kind), pair(t, kind)
		b, err := Open(bytes.ReplaceAll(sign(t, other), []byte(other.Public().ID()), []byte(key.Public().ID())))
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Verify(key.Public()); err == nil || !strings.Contains(err.Error(), "is not valid") {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// One changed byte anywhere in a bundle is refused.
func TestOneFlippedByte(t *testing.T) {
	for _, kind := range Kinds {
		key := pair(t, kind)
		whole := sign(t, key)
		for i := range whole {
			for _, mask := range []byte{1, 0x20, 0xff} {
				changed := bytes.Clone(whole)
				changed[i] ^= mask
				b, err := Open(changed)
				if err == nil {
					err = b.Verify(key.Public())
				}
				if err == nil {
					t.Fatalf("%s: byte %d of %d changed from %q to %q is accepted", kind, i, len(whole), whole[i], changed[i])
				}
			}
		}
	}
}

// envelop signs an arbitrary payload.
func envelop(t *testing.T, key PrivateKey, payloadType, payload string, times int) []byte {
	t.Helper()
	signers := make([]dsse.Signer, times)
	for i := range signers {
		signers[i] = key
	}
	s, err := dsse.NewEnvelopeSigner(signers...)
	if err != nil {
		t.Fatal(err)
	}
	e, err := s.SignPayload(context.Background(), payloadType, []byte(payload))
	if err != nil {
		t.Fatal(err)
	}
	data, err := marshal(e, key.Public().ID())
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Other statements are refused with the reason, even with a valid signature.
func TestOtherStatements(t *testing.T) {
	key := pair(t, Ed25519)
	good, err := Statement{ManifestSHA256: digestOf("manifest"), Predicate: []byte(`{"a":1}`), predicateType: PredicateType}.marshal()
	if err != nil {
		t.Fatal(err)
	}
	swap := func(old, with string) string {
		if !strings.Contains(string(good), old) {
			t.Fatalf("no %s in %s", old, good)
		}
		return strings.Replace(string(good), old, with, 1)
	}
	for _, c := range []struct {
		payloadType, payload string
		times                int
		want                 string
	}{
		{PayloadType, string(good), 2, "2 signatures, not one"},
		{"application/json", string(good), 1, "payload type is"},
		{PayloadType, "{", 1, "not an in-toto statement"},
		{PayloadType, "[]", 1, "not an in-toto statement"},
		{PayloadType, "", 1, "not an in-toto statement"},
		{PayloadType, `{}`, 1, "wrong statement type"},
		{PayloadType, swap("Statement/v1", "Statement/v0.1"), 1, "statement type is"},
		{PayloadType, swap("assay.dev/certificate/v1", "slsa.dev/provenance/v1"), 1, "predicate type is"},
		{PayloadType, swap("manifest.json", "other.json"), 1, "the first subject is"},
		{PayloadType, swap("assay.dev/certificate/v1", "assay.dev/seal/v1"), 1, "predicate type is"},
		{PayloadType, swap(`}],"predicateType`, `},{"name":"evidence/manifest.json","digest":{"sha256":"`+digestOf("x")+`"}}],"predicateType`), 1, "occurs twice"},
		{PayloadType, swap(`}],"predicateType`, `},{"name":"../x","digest":{"sha256":"`+digestOf("x")+`"}}],"predicateType`), 1, "is no file"},
		{PayloadType, swap(`}],"predicateType`, `},{"name":"/etc/x","digest":{"sha256":"`+digestOf("x")+`"}}],"predicateType`), 1, "is no file"},
		{PayloadType, swap(`"subject":[`, `"subject":[{"name":"x","digest":{"sha256":"`+digestOf("x")+`"}},`), 1, "the first subject is"},
		{PayloadType, swap(digestOf("manifest"), "00"), 1, "incorrect length"},
		{PayloadType, swap(`{"sha256":`, `{"other":`), 1, "no sha256"},
		{PayloadType, swap(`{"a":1}`, `null`), 1, "predicate object required"},
		{PayloadType, swap(`{"a":1}`, `[1]`), 1, "not an in-toto statement"},
		{PayloadType, swap(`{"a":1}`, `{"a":1},"predicate":{"a":2}`), 1, "not an in-toto statement"},
		{PayloadType, swap(`{"a":1}`, `{"a":1},"extra":1`), 1, "not an in-toto statement"},
		{PayloadType, string(good) + " ", 1, "has more than"},
		{PayloadType, swap(`{"sha256":`, `{"other":"11","sha256":`), 1, "has more than"},
	} {
		_, err := Open(envelop(t, key, c.payloadType, c.payload, c.times))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s of %s: error %v, want %s", c.payload, c.payloadType, err, c.want)
		}
	}
	whole := string(sign(t, key))
	for old, with := range map[string]string{
		"bundle.v0.3":                        "bundle.v0.2",
		`"dsseEnvelope"`:                     `"messageSignature"`,
		`"publicKey": {`:                     `"x509CertificateChain": {`,
		`"mediaType"`:                        ` "mediaType"`,
		`"verificationMaterial": {`:          `"verificationMaterial": {"tlogEntries": [],`,
		`"payloadType": "` + PayloadType:     `"payloadType": "` + PayloadType + `", "x": "`,
		`"` + PayloadType + `",`:             `"application\/vnd.in-toto+json",`,
		`"verificationMaterial": {` + "\n  ": `"verificationMaterial": {` + "\n",
	} {
		if !strings.Contains(whole, old) {
			t.Fatalf("no %s in the bundle", old)
		}
		if _, err := Open([]byte(strings.Replace(whole, old, with, 1))); err == nil {
			t.Errorf("%s in place of %s is accepted", with, old)
		}
	}
}

func pemOf(t *testing.T, kind string, der []byte, err error) []byte {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// The error for an unusable key says what it is instead.
func TestUnusableKeys(t *testing.T) {
	private, public, err := Generate(ECDSAP256)
	if err != nil {
		t.Fatal(err)
	}
	big, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p256, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8 := func(key any) []byte {
		der, err := x509.MarshalPKCS8PrivateKey(key)
		return pemOf(t, privateType, der, err)
	}
	pkix := func(key any) []byte {
		der, err := x509.MarshalPKIXPublicKey(key)
		return pemOf(t, publicType, der, err)
	}
	sec1, err := x509.MarshalECPrivateKey(p256)
	garbage := pemOf(t, privateType, []byte("garbage"), nil)
	for name, c := range map[string]struct {
		private bool
		text    []byte
		want    string
	}{
		"RSA":             {true, pkcs8(big), "type RSA (2048 bits)"},
		"P-384":           {true, pkcs8(p384), "type ECDSA P-384"},
		"public":          {true, public, "this is a public key"},
		"SEC1":            {true, pemOf(t, "EC PRIVATE KEY", sec1, err), `"EC PRIVATE KEY", not "PRIVATE KEY" (PKCS#8)`},
		"certificate":     {true, pemOf(t, "CERTIFICATE", sec1, nil), `"CERTIFICATE"`},
		"nothing":         {true, nil, "not PEM-encoded"},
		"text":            {true, []byte("secret"), "not PEM-encoded"},
		"garbage":         {true, garbage, "not a PKCS#8 private key"},
		"two":             {true, append(bytes.Clone(private), private...), "more than one PEM block"},
		"encrypted":       {true, pemOf(t, "ENCRYPTED PRIVATE KEY", sec1, nil), "the key is encrypted"},
		"cosign's own":    {true, pemOf(t, "ENCRYPTED SIGSTORE PRIVATE KEY", sec1, nil), "the key is encrypted"},
		"a private key":   {false, private, "this is a private key"},
		"a public RSA":    {false, pkix(&big.PublicKey), "type RSA"},
		"a public P-384":  {false, pkix(&p384.PublicKey), "P-384"},
		"no public key":   {false, pemOf(t, publicType, []byte("garbage"), nil), "not a PKIX public key"},
		"a chain":         {false, pemOf(t, "CERTIFICATE", sec1, nil), `"CERTIFICATE"`},
		"an empty public": {false, nil, "not PEM-encoded"},
	} {
		_, err := ParsePublic(c.text)
		if c.private {
			_, err = ParsePrivate(c.text)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %s", name, err, c.want)
		} else if hint.Of(err) == "" {
			t.Errorf("%s: %v has no hint", name, err)
		}
		if strings.ContainsAny(fmt.Sprint(err), "\n\x00") {
			t.Errorf("%s: error is not one line: %q", name, err)
		}
	}
	if _, _, err := Generate("rsa"); err == nil || !strings.Contains(err.Error(), "ed25519 or ecdsa-p256") {
		t.Errorf("an unknown kind: %v", err)
	}
}

func TestPrivateKeyIsNotPrinted(t *testing.T) {
	key := pair(t, Ed25519)
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if got := fmt.Sprintf(format, key); got != "private key" {
			t.Errorf("%s prints %s", format, got)
		}
	}
}

// Every predicate is read back verbatim.
func TestPredicateIsVerbatim(t *testing.T) {
	key := pair(t, Ed25519)
	rapid.Check(t, func(rt *rapid.T) {
		text := fmt.Sprintf("{%q: %q,\n\t%q : [1e400, 1.50, <]}", rapid.String().Draw(rt, "key"), "v", "n")
		text = strings.NewReplacer(`\a`, "", `\v`, "", `\x`, "", `\U`, "", "<", rapid.SampledFrom([]string{"1", `"<&>"`, `{ }`}).Draw(rt, "value")).Replace(text)
		data, err := Sign(key, []byte(text+"\n"), digestOf("m"))
		if err != nil {
			return // not JSON, or not JSON that a statement may hold
		}
		b, err := Open(data)
		if err != nil {
			rt.Fatal(err)
		}
		if string(b.Statement.Predicate) != text {
			rt.Fatalf("%q came back as %q", text, b.Statement.Predicate)
		}
	})
}

// FuzzOpen: no bundle makes Open crash, and an accepted one is marshalled to the same
// bytes.
func FuzzOpen(f *testing.F) {
	key := pair(f, Ed25519)
	f.Add(sign(f, key))
	f.Add(sign(f, pair(f, ECDSAP256)))
	f.Add([]byte(`{"mediaType":"` + MediaType + `","dsseEnvelope":{"payload":"e30=","signatures":[{}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := Open(data)
		if err != nil {
			return
		}
		if again, err := marshal(&b.envelope, b.KeyID); err != nil || !bytes.Equal(again, data) {
			t.Fatalf("accepted, but marshalled differently: %v", err)
		}
		_ = b.Verify(key.Public()) // must not crash
	})
}

// FuzzKeys: no key makes the parsers crash, and an accepted one signs.
func FuzzKeys(f *testing.F) {
	for _, kind := range Kinds {
		private, public, err := Generate(kind)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(private)
		f.Add(public)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if key, err := ParsePrivate(text); err == nil {
			b, err := Open(sign(t, key))
			if err != nil || b.Verify(key.Public()) != nil {
				t.Fatalf("an accepted key does not sign: %v", err)
			}
		}
		if key, err := ParsePublic(text); err == nil && key.ID() == "" {
			t.Fatal("an accepted key has no ID")
		}
	})
}

func TestSignWhatIsNotJSON(t *testing.T) {
	data, err := Sign(pair(t, Kinds[0]), []byte("{"), digestOf("manifest"))
	if err == nil || !strings.Contains(err.Error(), "the certificate is not JSON") || data != nil {
		t.Errorf("%q, %v", data, err)
	}
}
