package issue

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"assay/harness/foreign"
	"assay/harness/hint"
	"assay/harness/judge/certificate"
	"assay/harness/judge/certificate/signature"
	"assay/harness/observe/record"
)

// Files of a run folder, or of RejudgedDir below it.
const (
	CertificateFile = "certificate.json"
	BundleFile      = "certificate.sigstore.json"
	// RejudgedDir holds a certificate by other thresholds, and these thresholds.
	RejudgedDir    = "rejudged"
	ThresholdsFile = "thresholds.json"
)

// Issue is a certificate that is ready to be written.
type Issue struct {
	Certificate certificate.Certificate
	Data        []byte // certificate.json
	bundle      []byte // nil: not signed
	dir         string
}

// New prepares the files and writes nothing. Without a key, an existing signature of
// exactly this certificate is kept; a signature of another certificate is an error.
func New(dir string, c certificate.Certificate, key *signature.PrivateKey) (Issue, error) {
	path := filepath.Join(dir, BundleFile)
	before, err := foreign.ReadFile(path, record.MaxDocument)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Issue{}, fmt.Errorf("read signature: %w", err)
	}
	old, unreadable := signature.Open(before)
	signed := err == nil
	switch c.Signed = key != nil || signed; {
	case key != nil:
		id := key.Public().ID()
		c.Issuer = &id
	case signed:
		c.Issuer = &old.KeyID
	}
	data, err := certificate.Marshal(c)
	if err != nil {
		return Issue{}, err
	}
	i := Issue{Certificate: c, Data: data, dir: dir}
	if !c.Signed {
		return i, nil
	}
	if signed && unreadable == nil && covers(old, c, data) && (key == nil || old.Verify(key.Public()) == nil) {
		i.bundle = before // signing again would change the bytes
		return i, nil
	}
	if signed && unreadable == nil && old.Statement.ManifestSHA256 != c.Evidence.ManifestSHA256 {
		return Issue{}, hint.With(fmt.Errorf("%s signs other evidence: the record is not the one that was signed", path),
			"restore the run folder as it was signed; to sign it as it is now, remove "+path+" first")
	}
	if key == nil {
		return Issue{}, hint.With(fmt.Errorf("%s signs a different certificate, and there is no key to sign the new one", path),
			"set ASSAY_SIGNING_KEY to sign it again, or remove "+path+" for an unsigned one")
	}
	i.bundle, err = signature.Sign(*key, data, c.Evidence.ManifestSHA256)
	return i, err
}

func covers(b signature.Bundle, c certificate.Certificate, data []byte) bool {
	return b.Statement.ManifestSHA256 == c.Evidence.ManifestSHA256 && bytes.Equal(b.Statement.Predicate, signature.Predicate(data))
}

// Path is the path of certificate.json.
func (i Issue) Path() string { return filepath.Join(i.dir, CertificateFile) }

// BundlePath is the path of the signature; "" for an unsigned certificate.
func (i Issue) BundlePath() string {
	if i.bundle == nil {
		return ""
	}
	return filepath.Join(i.dir, BundleFile)
}

// Write writes each file atomically, the certificate first: if writing the signature
// then fails, verify refuses the certificate because it states that it is signed.
func (i Issue) Write() error {
	if err := record.WriteFile(i.Path(), i.Data); err != nil || i.bundle == nil {
		return err
	}
	return record.WriteFile(i.BundlePath(), i.bundle)
}
