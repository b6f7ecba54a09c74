// SPDX-License-Identifier: Apache-2.0

package signature

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// sealer seals records with a key. A seal is a run's signature over its record: a run that
// had the key has ended with this evidence. Nothing but a run makes one, so that a
// certificate says by it whether somebody else may have put its record together.
type sealer struct{ key PrivateKey }

// NewSealer is a record.Sealer that seals with a key; nil without one.
func NewSealer(key *PrivateKey) interface {
	Seal(run string, manifest []byte) ([]byte, error)
	Verify(seal []byte, run string, manifest []byte) error
} {
	if key == nil {
		return nil
	}
	return sealer{*key}
}

// Seal implements record.Sealer.
func (s sealer) Seal(run string, manifest []byte) ([]byte, error) {
	predicate, err := sealPredicate(run)
	if err != nil {
		return nil, err
	}
	data, err := signStatement(s.key, Statement{ManifestSHA256: sha256Of(manifest), Predicate: predicate, predicateType: SealType})
	if err != nil {
		return nil, fmt.Errorf("sign the record: %w", err)
	}
	return data, nil
}

// Verify implements record.Sealer.
func (s sealer) Verify(seal []byte, run string, manifest []byte) error {
	return VerifySeal(seal, s.key.Public(), run, sha256Of(manifest))
}

func sealPredicate(run string) ([]byte, error) {
	return json.Marshal(struct {
		Run string `json:"run"`
	}{run})
}

// VerifySeal fails unless the key has sealed this run with this manifest, whose SHA-256 is
// given in hex.
func VerifySeal(seal []byte, key PublicKey, run, manifestSHA256 string) error {
	b, err := open(seal, SealType)
	if err != nil {
		return err
	}
	if err := b.Verify(key); err != nil {
		return err
	}
	want, err := sealPredicate(run)
	if err != nil {
		return err
	}
	if b.Statement.ManifestSHA256 != manifestSHA256 || !bytes.Equal(b.Statement.Predicate, want) || len(b.Statement.Files) > 0 {
		return errors.New("it seals another record")
	}
	return nil
}
