// SPDX-License-Identifier: Apache-2.0

package signature

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	bundlepb "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	commonpb "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	dssepb "github.com/sigstore/protobuf-specs/gen/pb-go/dsse"
	"google.golang.org/protobuf/encoding/protojson"

	"assay.dev/assay/internal/foreign"
)

// MediaType of a Sigstore bundle v0.3.
const MediaType = "application/vnd.dev.sigstore.bundle.v0.3+json"

// maxBundleValues is the number of values and keys of a bundle, which has 30.
const maxBundleValues = 100

// Bundle is a signed statement, the content of certificate.sigstore.json or of a seal. It
// must not be trusted before Verify.
type Bundle struct {
	Statement Statement
	KeyID     string // id of the signing key, according to the bundle
	envelope  dsse.Envelope
}

// Sign makes certificate.sigstore.json from certificate.json, the SHA-256 of the
// evidence's manifest, in hex, and the files that show the certificate.
func Sign(key PrivateKey, certificate []byte, manifestSHA256 string, files ...File) ([]byte, error) {
	data, err := signStatement(key, Statement{ManifestSHA256: manifestSHA256, Files: files, Predicate: Predicate(certificate), predicateType: PredicateType})
	if err != nil {
		return nil, fmt.Errorf("sign certificate: %w", err)
	}
	return data, nil
}

func signStatement(key PrivateKey, s Statement) ([]byte, error) {
	payload, err := s.marshal()
	if err != nil {
		return nil, err
	}
	signer, err := dsse.NewEnvelopeSigner(key)
	if err != nil {
		return nil, err
	}
	envelope, err := signer.SignPayload(context.Background(), PayloadType, payload)
	if err != nil {
		return nil, err
	}
	data, err := marshal(envelope, key.Public().ID())
	if err == nil {
		_, err = open(data, s.predicateType) // a bundle that cannot be read must not be written
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}

// marshal writes a bundle: the same bytes for the same envelope.
func marshal(e *dsse.Envelope, keyID string) ([]byte, error) {
	payload, err := e.DecodeB64Payload()
	if err != nil {
		return nil, fmt.Errorf("write bundle: %w", err)
	}
	signatures := make([]*dssepb.Signature, len(e.Signatures))
	for i, s := range e.Signatures {
		sig, err := base64.StdEncoding.DecodeString(s.Sig)
		if err != nil {
			return nil, fmt.Errorf("write bundle: %w", err)
		}
		signatures[i] = &dssepb.Signature{Sig: sig, Keyid: s.KeyID}
	}
	data, err := protojson.Marshal(&bundlepb.Bundle{
		MediaType: MediaType,
		VerificationMaterial: &bundlepb.VerificationMaterial{
			Content: &bundlepb.VerificationMaterial_PublicKey{PublicKey: &commonpb.PublicKeyIdentifier{Hint: keyID}},
		},
		Content: &bundlepb.Bundle_DsseEnvelope{DsseEnvelope: &dssepb.Envelope{
			Payload: payload, PayloadType: e.PayloadType, Signatures: signatures,
		}},
	})
	if err != nil {
		return nil, fmt.Errorf("write bundle: %w", err)
	}
	// protojson randomizes white space on purpose.
	var out bytes.Buffer
	if err := json.Indent(&out, data, "", "  "); err != nil {
		return nil, fmt.Errorf("write bundle: %w", err)
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// Open reads certificate.sigstore.json, and refuses one that is not byte for byte as Sign
// writes it: nothing may be hidden where the signature does not cover it (white space,
// base64 padding, unknown fields).
func Open(data []byte) (Bundle, error) { return open(data, PredicateType) }

func open(data []byte, predicateType string) (Bundle, error) {
	var b bundlepb.Bundle
	if foreign.CheckJSON(data, maxBundleValues) != nil || protojson.Unmarshal(data, &b) != nil {
		return Bundle{}, errors.New("not a sigstore bundle")
	}
	in := b.GetDsseEnvelope()
	key := b.GetVerificationMaterial().GetPublicKey()
	switch {
	case b.GetMediaType() != MediaType:
		return Bundle{}, fmt.Errorf("media type is %.80q, not %s", b.GetMediaType(), MediaType)
	case in == nil:
		return Bundle{}, errors.New("no DSSE envelope")
	case key == nil:
		return Bundle{}, errors.New("no public key hint: not signed with a key")
	case in.GetPayloadType() != PayloadType:
		return Bundle{}, fmt.Errorf("payload type is %.80q, not %s", in.GetPayloadType(), PayloadType)
	case len(in.GetSignatures()) == 1 && in.GetSignatures()[0].GetKeyid() != "":
		return Bundle{}, errors.New("the signature has a keyid, which no signature covers")
	case len(in.GetSignatures()) != 1:
		return Bundle{}, fmt.Errorf("%d signatures, not one", len(in.GetSignatures()))
	}
	s, err := parseStatement(in.GetPayload(), predicateType)
	if err != nil {
		return Bundle{}, err
	}
	signed := in.GetSignatures()[0]
	out := Bundle{Statement: s, KeyID: key.GetHint(), envelope: dsse.Envelope{
		PayloadType: in.GetPayloadType(), Payload: base64.StdEncoding.EncodeToString(in.GetPayload()),
		Signatures: []dsse.Signature{{KeyID: signed.GetKeyid(), Sig: base64.StdEncoding.EncodeToString(signed.GetSig())}},
	}}
	if again, err := marshal(&out.envelope, out.KeyID); err != nil || !bytes.Equal(again, data) {
		return Bundle{}, errors.New("not byte for byte as assay writes it")
	}
	return out, nil
}

// Verify fails unless the key has signed the bundle.
func (b Bundle) Verify(key PublicKey) error {
	if b.KeyID != key.ID() {
		return fmt.Errorf("signed with another key: the bundle names %.60s, the given key is %s", b.KeyID, key.ID())
	}
	verifier, err := dsse.NewEnvelopeVerifier(key)
	if err != nil {
		return fmt.Errorf("verify bundle: %w", err)
	}
	if _, err := verifier.Verify(context.Background(), &b.envelope); err != nil {
		return fmt.Errorf("the signature is not valid: the statement was changed, or signed with another key than this %s key", key.Kind())
	}
	return nil
}
