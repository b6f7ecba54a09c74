package signature

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"

	"assay/harness/hint"
)

// Kind is a kind of keys.
type Kind string

// The kinds that a certificate may be signed with (RULEBOOK section 4).
const (
	Ed25519   Kind = "ed25519" // pure, not pre-hashed
	ECDSAP256 Kind = "ecdsa-p256"
)

// Kinds lists them, the default first.
var Kinds = []Kind{Ed25519, ECDSAP256}

// PEM types of the two files of a key.
const (
	privateType = "PRIVATE KEY" // PKCS#8
	publicType  = "PUBLIC KEY"  // PKIX
)

// hintKeygen is the next step wherever a key is of no use.
const hintKeygen = "make a pair of keys: assay keygen DIR"

// Generate makes a pair of keys: the private one as PKCS#8 PEM, the public one
// as PKIX PEM.
func Generate(kind Kind) (private, public []byte, err error) {
	var key crypto.Signer
	switch kind {
	case Ed25519:
		_, key, err = ed25519.GenerateKey(rand.Reader)
	case ECDSAP256:
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	default:
		words := make([]string, len(Kinds))
		for i, k := range Kinds {
			words[i] = string(k)
		}
		return nil, nil, fmt.Errorf("there is no key of the type %q: %s", kind, strings.Join(words, " or "))
	}
	if err != nil {
		return nil, nil, fmt.Errorf("generate key: %w", err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, fmt.Errorf("write private key: %w", err)
	}
	open, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return nil, nil, fmt.Errorf("write public key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: privateType, Bytes: secret}),
		pem.EncodeToMemory(&pem.Block{Type: publicType, Bytes: open}), nil
}

// PrivateKey signs certificates. It prints as nothing of a key.
type PrivateKey struct{ signer crypto.Signer }

func (PrivateKey) String() string { return "private key" }

// GoString keeps %#v from printing the key.
func (PrivateKey) GoString() string { return "private key" }

// Public is the other half.
func (k PrivateKey) Public() PublicKey { return PublicKey{k.signer.Public()} }

// PublicKey verifies them.
type PublicKey struct{ key crypto.PublicKey }

// Kind is the key's.
func (k PublicKey) Kind() Kind {
	if _, ok := k.key.(ed25519.PublicKey); ok {
		return Ed25519
	}
	return ECDSAP256
}

// ID is the base64 SHA-256 of the key's PKIX form, which cosign puts into a
// bundle as the key's hint.
func (k PublicKey) ID() string {
	der, err := x509.MarshalPKIXPublicKey(k.key)
	if err != nil {
		panic(err) // both kinds can be marshalled
	}
	sum := sha256.Sum256(der)
	return base64.StdEncoding.EncodeToString(sum[:])
}

// ParsePrivate reads a private key as Generate writes it.
func ParsePrivate(text []byte) (PrivateKey, error) {
	block, err := onlyBlock(text)
	if err != nil {
		return PrivateKey{}, err
	}
	switch {
	case strings.Contains(block.Type, "ENCRYPTED") || strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED"):
		return PrivateKey{}, hint.With(errors.New("it is encrypted"), "decrypt it (openssl pkcs8 -in KEY -out assay.key), or "+hintKeygen)
	case block.Type == publicType:
		return PrivateKey{}, hint.With(errors.New("it is a public key, and signing takes the private one"), "name assay.key, not assay.pub")
	case block.Type != privateType && strings.HasSuffix(block.Type, privateType):
		return PrivateKey{}, hint.With(
			fmt.Errorf("it is a PEM of the type %q, not PKCS#8 (%q)", block.Type, privateType),
			"convert it: openssl pkcs8 -topk8 -nocrypt -in KEY -out assay.key",
		)
	case block.Type != privateType:
		return PrivateKey{}, hint.With(fmt.Errorf("it is a PEM of the type %.40q, not %q", block.Type, privateType), hintKeygen)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		// The parser's own words may quote what it read.
		return PrivateKey{}, hint.With(errors.New("it is not a PKCS#8 private key"), hintKeygen)
	}
	signer, ok := parsed.(crypto.Signer)
	if !ok { // X25519
		return PrivateKey{}, unusable(parsed)
	}
	if err := usable(signer.Public()); err != nil {
		return PrivateKey{}, err
	}
	return PrivateKey{signer}, nil
}

// ParsePublic reads a public key as Generate writes it.
func ParsePublic(text []byte) (PublicKey, error) {
	block, err := onlyBlock(text)
	if err != nil {
		return PublicKey{}, err
	}
	switch {
	case strings.Contains(block.Type, "PRIVATE"):
		return PublicKey{}, hint.With(errors.New("it is a private key, and verifying takes the public one"), "name assay.pub; the private key stays with its owner")
	case block.Type != publicType:
		return PublicKey{}, hint.With(fmt.Errorf("it is a PEM of the type %.40q, not %q", block.Type, publicType), "name the assay.pub that keygen wrote")
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return PublicKey{}, hint.With(errors.New("it is not a PKIX public key"), "name the assay.pub that keygen wrote")
	}
	if err := usable(key); err != nil {
		return PublicKey{}, err
	}
	return PublicKey{key}, nil
}

// onlyBlock is the one PEM block of a text.
func onlyBlock(text []byte) (*pem.Block, error) {
	block, rest := pem.Decode(text)
	switch {
	case block == nil:
		return nil, hint.With(errors.New("it is not a PEM"), hintKeygen)
	case len(bytes.TrimSpace(rest)) > 0:
		return nil, hint.With(errors.New("it holds more than one PEM block"), "leave only the key in it")
	}
	return block, nil
}

func usable(key crypto.PublicKey) error {
	switch k := key.(type) {
	case ed25519.PublicKey:
		return nil
	case *ecdsa.PublicKey:
		if k.Curve == elliptic.P256() {
			return nil
		}
	}
	return unusable(key)
}

// unusable names a key of another type.
func unusable(key any) error {
	name := "another type"
	switch k := key.(type) {
	case *rsa.PublicKey:
		name = fmt.Sprintf("type RSA (%d bits)", k.N.BitLen())
	case *ecdsa.PublicKey:
		name = "type ECDSA " + k.Curve.Params().Name
	}
	return hint.With(fmt.Errorf("it is a key of %s: Ed25519 or ECDSA P-256 is needed", name), hintKeygen)
}

// The rest makes keys what the DSSE library signs and verifies with.

// Sign implements dsse.Signer.
func (k PrivateKey) Sign(_ context.Context, data []byte) ([]byte, error) {
	if k.Public().Kind() == Ed25519 {
		return k.signer.Sign(rand.Reader, data, crypto.Hash(0))
	}
	sum := sha256.Sum256(data)
	return k.signer.Sign(rand.Reader, sum[:], crypto.SHA256)
}

// KeyID is none: the bundle's hint names the key.
func (PrivateKey) KeyID() (string, error) { return "", nil }

var errNotSigned = errors.New("the signature does not hold")

// Verify implements dsse.Verifier.
func (k PublicKey) Verify(_ context.Context, data, sig []byte) error {
	switch key := k.key.(type) {
	case ed25519.PublicKey:
		if ed25519.Verify(key, data, sig) {
			return nil
		}
	case *ecdsa.PublicKey:
		if sum := sha256.Sum256(data); ecdsa.VerifyASN1(key, sum[:], sig) {
			return nil
		}
	}
	return errNotSigned
}

// KeyID names the key for the library's count of signers.
func (k PublicKey) KeyID() (string, error) { return k.ID(), nil }

// Public implements dsse.Verifier.
func (k PublicKey) Public() crypto.PublicKey { return k.key }

// Equal tells whether two keys are the same.
func (k PublicKey) Equal(other PublicKey) bool {
	return slices.Equal([]byte(k.ID()), []byte(other.ID()))
}
