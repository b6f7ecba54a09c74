package signature

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	intoto "github.com/in-toto/attestation/go/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"assay/harness/foreign"
	"assay/harness/observe/record"
)

// Constants of every statement.
const (
	PayloadType   = "application/vnd.in-toto+json"
	PredicateType = "https://assay.dev/certificate/v1"
	SubjectName   = "evidence/manifest.json"
)

// Statement is the signed statement: this certificate was issued on the evidence with
// this manifest.
type Statement struct {
	ManifestSHA256 string // hex
	Predicate      []byte // certificate.json, verbatim but for its final newline
}

// Predicate is certificate.json as it appears in a statement.
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

// marshal copies the predicate byte for byte: a JSON encoder or in-toto's protobuf would
// change it.
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

// parseStatement reads a statement, and refuses one that marshal would not write.
func parseStatement(payload []byte) (Statement, error) {
	var known intoto.Statement
	if foreign.CheckJSON(payload, record.MaxCertificateValues) != nil || protojson.Unmarshal(payload, &known) != nil {
		return Statement{}, errors.New("the payload is not an in-toto statement")
	}
	if err := known.Validate(); err != nil {
		return Statement{}, fmt.Errorf("the in-toto statement is not valid: %v", err)
	}
	switch {
	case known.GetType() != intoto.StatementTypeUri:
		return Statement{}, fmt.Errorf("statement type is %.80q, not %s", known.GetType(), intoto.StatementTypeUri)
	case known.GetPredicateType() != PredicateType:
		return Statement{}, fmt.Errorf("predicate type is %.80q, not %s", known.GetPredicateType(), PredicateType)
	case len(known.GetSubject()) != 1:
		return Statement{}, fmt.Errorf("the statement has %d subjects, not one", len(known.GetSubject()))
	case known.GetSubject()[0].GetName() != SubjectName:
		return Statement{}, fmt.Errorf("the subject is %.80q, not %s", known.GetSubject()[0].GetName(), SubjectName)
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
		return Statement{}, errors.New("the statement has more than a subject and a certificate")
	}
	return s, nil
}
