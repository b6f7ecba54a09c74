// SPDX-License-Identifier: Apache-2.0

package signature

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	intoto "github.com/in-toto/attestation/go/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"assay.dev/assay/internal/foreign"
)

// Constants of every statement.
const (
	PayloadType   = "application/vnd.in-toto+json"
	PredicateType = "https://assay.dev/certificate/v1"
	SealType      = "https://assay.dev/seal/v1" // predicate type of a seal
	SubjectName   = "evidence/manifest.json"
)

// MaxValues is the number of values and keys up to which certificate.json is read, its
// signature, and the thresholds beside a re-judged one, of which more is made in memory than
// of other documents. A certificate with 20 flows of 20 SLOs has 30,000.
const MaxValues = 200_000

// Statement is the signed statement: this certificate was issued on the evidence with
// this manifest, and these files show it. Of a seal: a run has ended with this evidence.
type Statement struct {
	ManifestSHA256 string // hex
	Files          []File // further subjects, none of them the manifest and each once
	Predicate      []byte // certificate.json, verbatim but for its final newline
	predicateType  string
}

// File is a subject of a statement beside the manifest.
type File struct {
	Name   string // relative to the certificate's folder, with slashes
	SHA256 string // hex
}

// FileOf is the subject for a file with this content.
func FileOf(name string, data []byte) File { return File{name, sha256Of(data)} }

func sha256Of(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Covers reports whether a file with this content is a subject.
func (s Statement) Covers(name string, data []byte) bool {
	return slices.Contains(s.Files, FileOf(name, data))
}

// Difference names the first file in which two statements differ; empty: none.
func (s Statement) Difference(other Statement) string {
	switch {
	case s.ManifestSHA256 != other.ManifestSHA256:
		return SubjectName
	case !bytes.Equal(s.Predicate, other.Predicate):
		return "certificate"
	}
	for i, f := range s.Files {
		if i >= len(other.Files) || other.Files[i] != f {
			return f.Name
		}
	}
	if len(other.Files) > len(s.Files) {
		return other.Files[len(s.Files)].Name
	}
	return ""
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
	h := head{Type: intoto.StatementTypeUri, PredicateType: s.predicateType}
	for _, f := range slices.Concat([]File{{SubjectName, s.ManifestSHA256}}, s.Files) {
		h.Subject = append(h.Subject, subject{Name: f.Name, Digest: map[string]string{"sha256": f.SHA256}})
	}
	data, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("write statement: %w", err)
	}
	data = append(bytes.TrimSuffix(data, []byte("}")), `,"predicate":`...)
	return append(append(data, s.Predicate...), '}'), nil
}

// parseStatement reads a statement of a type, and refuses one that marshal would not write.
func parseStatement(payload []byte, predicateType string) (Statement, error) {
	var known intoto.Statement
	if foreign.CheckJSON(payload, MaxValues) != nil || protojson.Unmarshal(payload, &known) != nil {
		return Statement{}, errors.New("the payload is not an in-toto statement")
	}
	if err := known.Validate(); err != nil {
		return Statement{}, fmt.Errorf("the in-toto statement is not valid: %w", err)
	}
	switch {
	case known.GetType() != intoto.StatementTypeUri:
		return Statement{}, fmt.Errorf("statement type is %.80q, not %s", known.GetType(), intoto.StatementTypeUri)
	case known.GetPredicateType() != predicateType:
		return Statement{}, fmt.Errorf("predicate type is %.80q, not %s", known.GetPredicateType(), predicateType)
	case known.GetSubject()[0].GetName() != SubjectName:
		return Statement{}, fmt.Errorf("the first subject is %.80q, not %s", known.GetSubject()[0].GetName(), SubjectName)
	}
	s := Statement{predicateType: predicateType}
	names := map[string]bool{}
	for i, subject := range known.GetSubject() {
		name, digest := subject.GetName(), subject.GetDigest()["sha256"]
		if sum, err := hex.DecodeString(digest); err != nil || len(sum) != 32 {
			return Statement{}, fmt.Errorf("the statement's subject %.80q has no sha256", name)
		}
		if names[name] || !fs.ValidPath(name) {
			return Statement{}, fmt.Errorf("the statement's subject %.80q is no file, or occurs twice", name)
		}
		names[name] = true
		if i == 0 {
			s.ManifestSHA256 = digest
		} else {
			s.Files = append(s.Files, File{name, digest})
		}
	}
	var raw struct {
		Predicate json.RawMessage `json:"predicate"`
	}
	if err := json.Unmarshal(payload, &raw); err != nil {
		return Statement{}, errors.New("the payload is not an in-toto statement")
	}
	s.Predicate = raw.Predicate
	if again, err := s.marshal(); err != nil || !bytes.Equal(again, payload) {
		return Statement{}, errors.New("the statement has more than its subjects and a predicate")
	}
	return s, nil
}
