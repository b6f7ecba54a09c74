package issue

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"assay/harness/hint"
	"assay/harness/judge/certificate"
	"assay/harness/judge/certificate/signature"
	"assay/harness/observe/record"
)

// Files of a run folder, or of RejudgedDir below it.
const (
	CertificateFile = "certificate.json"
	BundleFile      = "certificate.sigstore.json"
	// RejudgedDir holds the certificate by other thresholds, which lie beside it.
	RejudgedDir    = "rejudged"
	ThresholdsFile = "thresholds.json"
)

// Issue is a certificate that is ready to be written.
type Issue struct {
	Certificate certificate.Certificate // Signed says whether it is
	Data        []byte                  // certificate.json
	bundle      []byte                  // nil: not signed
	dir         string
}

// New decides what is to be written into the folder, and writes nothing yet.
// Without a key the certificate is signed if there is a signature of exactly
// this one already; another signature there is an error.
func New(dir string, c certificate.Certificate, key *signature.PrivateKey) (Issue, error) {
	path := filepath.Join(dir, BundleFile)
	before, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Issue{}, fmt.Errorf("read signature: %w", err)
	}
	of, unreadable := signature.Open(before)
	signed := err == nil
	switch c.Signed = key != nil || signed; {
	case key != nil:
		id := key.Public().ID()
		c.Issuer = &id
	case signed:
		c.Issuer = &of.KeyID
	}
	data, err := certificate.Marshal(c)
	if err != nil {
		return Issue{}, err
	}
	i := Issue{Certificate: c, Data: data, dir: dir}
	if !c.Signed {
		return i, nil
	}
	if signed && unreadable == nil && covers(of, c, data) && (key == nil || of.Verify(key.Public()) == nil) {
		i.bundle = before // signing again would only give other bytes
		return i, nil
	}
	if signed && unreadable == nil && of.Statement.ManifestSHA256 != c.Evidence.ManifestSHA256 {
		return Issue{}, hint.With(
			errors.New(path+" is the signature of other evidence: the record is not the one that was signed"),
			"go back to the run folder as it was signed; to sign what is there now, remove "+path+" first",
		)
	}
	if key == nil {
		return Issue{}, hint.With(
			errors.New(path+" is the signature of another certificate than this record gives now, and there is no key to sign this one"),
			"set ASSAY_SIGNING_KEY to sign it again, or remove "+path+" for an unsigned one",
		)
	}
	i.bundle, err = signature.Sign(*key, data, c.Evidence.ManifestSHA256)
	return i, err
}

func covers(b signature.Bundle, c certificate.Certificate, data []byte) bool {
	return b.Statement.ManifestSHA256 == c.Evidence.ManifestSHA256 && bytes.Equal(b.Statement.Predicate, signature.Predicate(data))
}

// Path is where certificate.json goes.
func (i Issue) Path() string { return filepath.Join(i.dir, CertificateFile) }

// BundlePath is where the signature goes; "" for none.
func (i Issue) BundlePath() string {
	if i.bundle == nil {
		return ""
	}
	return filepath.Join(i.dir, BundleFile)
}

// Write writes each file whole, the certificate first: without its signature it
// is one that says that it is signed, which verify refuses.
func (i Issue) Write() error {
	if err := record.WriteFile(i.Path(), i.Data); err != nil || i.bundle == nil {
		return err
	}
	return record.WriteFile(i.BundlePath(), i.bundle)
}
