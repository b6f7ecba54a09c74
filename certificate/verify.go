// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"bytes"
	"errors"

	"assay.dev/assay/internal/signature"
)

// Verify reads a certificate.json that the owner of a key has signed. bundle is its
// certificate.sigstore.json, and key the issuer's public key, PKIX PEM, which must not come
// from where the certificate does.
func Verify(data, bundle, key []byte) (Certificate, error) {
	public, err := signature.ParsePublic(key)
	if err != nil {
		return Certificate{}, err
	}
	signed, err := signature.Open(bundle)
	if err == nil {
		err = signed.Verify(public)
	}
	if err != nil {
		return Certificate{}, err
	}
	if !bytes.Equal(signed.Statement.Predicate, signature.Predicate(data)) {
		return Certificate{}, errors.New("the certificate is not what was signed")
	}
	c, err := Parse(data)
	switch {
	case err != nil:
		return Certificate{}, err
	case c.Issuer == nil || *c.Issuer != public.ID():
		return Certificate{}, errors.New("the certificate's issuer is not the key")
	case c.Evidence.ManifestSHA256 != signed.Statement.ManifestSHA256:
		return Certificate{}, errors.New("the certificate was issued for another record than the one that was signed")
	}
	return c, nil
}
