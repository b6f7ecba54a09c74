package signature

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	intoto "github.com/in-toto/attestation/go/v1"
	"google.golang.org/protobuf/encoding/protojson"
)

// What a statement of ours says, in words that stay as they are.
const (
	PayloadType   = "application/vnd.in-toto+json"
	PredicateType = "https://assay.dev/certificate/v1"
	SubjectName   = "evidence/manifest.json"
)

// Statement says of a manifest of evidence that a certificate was issued on it.
type Statement struct {
	ManifestSHA256 string // hex
	Predicate      []byte // certificate.json, verbatim but for the newline at its end
}

// Predicate is what a statement holds of a certificate.json.
func Predicate(certificate []byte) []byte { return bytes.TrimSuffix(certificate, []byte("\n")) }

// head is a statement without its predicate.
type head struct {
	Type          string    `json:"_type"`
	Subject       []subject `json:"subject"`
	PredicateType string    `json:"predicateType"`
}

type subject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

// marshal puts the predicate's bytes where they stand: a JSON encoder, or the
// protobuf that in-toto's library reads it into, would write them anew.
func (s Statement) marshal() ([]byte, error) {
	if !json.Valid(s.Predicate) {
		return nil, errors.New("the certificate is not JSON")
	}
	data, err := json.Marshal(head{
		Type:          intoto.StatementTypeUri,
		Subject:       []subject{{Name: SubjectName, Digest: map[string]string{"sha256": s.ManifestSHA256}}},
		PredicateType: PredicateType,
	})
	if err != nil {
		return nil, fmt.Errorf("write statement: %w", err)
	}
	data = append(bytes.TrimSuffix(data, []byte("}")), `,"predicate":`...)
	return append(append(data, s.Predicate...), '}'), nil
}

// parseStatement reads a statement, and refuses what is not one of ours.
func parseStatement(payload []byte) (Statement, error) {
	var known intoto.Statement
	if err := protojson.Unmarshal(payload, &known); err != nil {
		return Statement{}, errors.New("the payload is not an in-toto statement")
	}
	if err := known.Validate(); err != nil {
		return Statement{}, fmt.Errorf("the in-toto statement is not valid: %v", err)
	}
	switch {
	case known.GetType() != intoto.StatementTypeUri:
		return Statement{}, fmt.Errorf("the statement is of the type %.80q, not %s", known.GetType(), intoto.StatementTypeUri)
	case known.GetPredicateType() != PredicateType:
		return Statement{}, fmt.Errorf("the predicate is of the type %.80q, not %s", known.GetPredicateType(), PredicateType)
	case len(known.GetSubject()) != 1:
		return Statement{}, fmt.Errorf("the statement is about %d subjects, not one", len(known.GetSubject()))
	case known.GetSubject()[0].GetName() != SubjectName:
		return Statement{}, fmt.Errorf("the statement is about %.80q, not %s", known.GetSubject()[0].GetName(), SubjectName)
	}
	digest := known.GetSubject()[0].GetDigest()["sha256"]
	if sum, err := hex.DecodeString(digest); err != nil || len(sum) != 32 {
		return Statement{}, errors.New("the statement's subject has no sha256")
	}
	var raw struct {
		Predicate json.RawMessage `json:"predicate"`
	}
	if err := json.Unmarshal(payload, &raw); err != nil {
		return Statement{}, errors.New("the payload is not an in-toto statement")
	}
	s := Statement{ManifestSHA256: digest, Predicate: raw.Predicate}
	if again, err := s.marshal(); err != nil || !bytes.Equal(again, payload) {
		return Statement{}, errors.New("the statement says more than a subject and a certificate")
	}
	return s, nil
}
