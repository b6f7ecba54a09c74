// SPDX-License-Identifier: Apache-2.0

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
	"strings"

	"assay.dev/assay/internal/hint"
)

// Kind is a type of key.
type Kind string

// The types of key that may sign a certificate (docs/trust.md).
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

const hintKeygen = "make a key pair: assay keygen DIR"

// Generate makes a key pair: the private key as PKCS#8 PEM, the public key as PKIX PEM.
func Generate(kind Kind) (private, public []byte, err error) {
	var key crypto.Signer
	switch kind {
	case Ed25519:
		_, key, err = ed25519.GenerateKey(rand.Reader)
	case ECDSAP256:
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	default:
		return nil, nil, fmt.Errorf("unknown key type %q: use %s or %s", kind, Ed25519, ECDSAP256)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("generate key: %w", err)
	}
	privateDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, fmt.Errorf("write private key: %w", err)
	}
	publicDER, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return nil, nil, fmt.Errorf("write public key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: privateType, Bytes: privateDER}),
		pem.EncodeToMemory(&pem.Block{Type: publicType, Bytes: publicDER}), nil
}

// PrivateKey signs certificates. Formatting it does not print the key.
type PrivateKey struct{ signer crypto.Signer }

func (PrivateKey) String() string { return "private key" }

// GoString keeps %#v from printing the key.
func (PrivateKey) GoString() string { return "private key" }

// Public is the public key of the pair.
func (k PrivateKey) Public() PublicKey { return PublicKey{k.signer.Public()} }

// PublicKey verifies certificates.
type PublicKey struct{ key crypto.PublicKey }

// Kind is the type of the key.
func (k PublicKey) Kind() Kind {
	if _, ok := k.key.(ed25519.PublicKey); ok {
		return Ed25519
	}
	return ECDSAP256
}

// ID is the base64 SHA-256 of the key in PKIX form, which cosign puts into a bundle as
// the hint of the public key.
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
		return PrivateKey{}, hint.With(errors.New("the key is encrypted"), "decrypt it (openssl pkcs8 -in KEY -out assay.key), or "+hintKeygen)
	case block.Type == publicType:
		return PrivateKey{}, hint.With(errors.New("this is a public key, signing needs the private key"), "name assay.key, not assay.pub")
	case block.Type != privateType && strings.HasSuffix(block.Type, privateType):
		return PrivateKey{}, hint.With(fmt.Errorf("PEM type is %q, not %q (PKCS#8)", block.Type, privateType),
			"convert it: openssl pkcs8 -topk8 -nocrypt -in KEY -out assay.key")
	case block.Type != privateType:
		return PrivateKey{}, hint.With(fmt.Errorf("PEM type is %.40q, not %q", block.Type, privateType), hintKeygen)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		// The parser's error may quote the key.
		return PrivateKey{}, hint.With(errors.New("not a PKCS#8 private key"), hintKeygen)
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
		return PublicKey{}, hint.With(errors.New("this is a private key, verifying needs the public key"), "name assay.pub; keep the private key to yourself")
	case block.Type != publicType:
		return PublicKey{}, hint.With(fmt.Errorf("PEM type is %.40q, not %q", block.Type, publicType), "name the assay.pub that keygen wrote")
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return PublicKey{}, hint.With(errors.New("not a PKIX public key"), "name the assay.pub that keygen wrote")
	}
	if err := usable(key); err != nil {
		return PublicKey{}, err
	}
	return PublicKey{key}, nil
}

// onlyBlock is the only PEM block of a text.
func onlyBlock(text []byte) (*pem.Block, error) {
	block, rest := pem.Decode(text)
	switch {
	case block == nil:
		return nil, hint.With(errors.New("not PEM-encoded"), hintKeygen)
	case len(bytes.TrimSpace(rest)) > 0:
		return nil, hint.With(errors.New("more than one PEM block"), "remove everything but the key")
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

// unusable is the error for a key of an unsupported type.
func unusable(key any) error {
	name := "unsupported key type"
	switch k := key.(type) {
	case *rsa.PublicKey:
		name += fmt.Sprintf(" RSA (%d bits)", k.N.BitLen())
	case *ecdsa.PublicKey:
		name += " ECDSA " + k.Curve.Params().Name
	}
	return hint.With(fmt.Errorf("%s: Ed25519 or ECDSA P-256 is needed", name), hintKeygen)
}

// Sign implements dsse.Signer.
func (k PrivateKey) Sign(_ context.Context, data []byte) ([]byte, error) {
	if k.Public().Kind() == Ed25519 {
		return k.signer.Sign(rand.Reader, data, crypto.Hash(0))
	}
	sum := sha256.Sum256(data)
	return k.signer.Sign(rand.Reader, sum[:], crypto.SHA256)
}

// KeyID implements dsse.Signer. It is empty: the bundle's hint names the key.
func (PrivateKey) KeyID() (string, error) { return "", nil }

var errNotSigned = errors.New("the signature is not valid")

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

// KeyID implements dsse.Verifier, which counts signers by it.
func (k PublicKey) KeyID() (string, error) { return k.ID(), nil }

// Public implements dsse.Verifier.
func (k PublicKey) Public() crypto.PublicKey { return k.key }
