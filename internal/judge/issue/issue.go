// SPDX-License-Identifier: Apache-2.0

package issue

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/signature"
)

// Files of a run folder, or of RejudgedDir below it.
const (
	CertificateFile = "certificate.json"
	BundleFile      = "certificate.sigstore.json"
	// RejudgedDir holds a certificate by other thresholds, and these thresholds.
	RejudgedDir    = "rejudged"
	ThresholdsFile = "thresholds.json"
)

// MaxFile is the size up to which the files of a certificate are read: far more than any
// has.
const MaxFile = 64 << 20

// File is one that shows a certificate, in its folder.
type File struct {
	Name string
	Data []byte
}

// Folder is a run folder, or a folder below it, for which a certificate is issued.
type Folder struct {
	run, sub   string
	key        *signature.PrivateKey // nil: none
	before     []byte                // signature in the folder; nil: none
	old        signature.Bundle      // which it is
	unreadable error                 // why it cannot be read
}

// Open reads what is needed to issue a certificate in a run folder, or in sub below it, and
// writes nothing. key is the issuer's; nil: there is none.
func Open(run, sub string, key *signature.PrivateKey) (Folder, error) {
	f := Folder{run: run, sub: sub, key: key}
	if err := checkFolder(f.path()); err != nil && sub != "" && !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	var err error
	f.before, err = foreign.ReadFile(f.path(BundleFile), MaxFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return f, fmt.Errorf("read signature: %w", err)
	}
	if err == nil {
		f.old, f.unreadable = signature.Open(f.before)
	}
	return f, nil
}

func (f Folder) path(name ...string) string {
	return filepath.Join(append([]string{f.run, f.sub}, name...)...)
}

func (f Folder) signed() bool { return f.before != nil }

// oldIsOurs reports whether the signature in the folder can be kept: it is the key's, as far
// as that is known.
func (f Folder) oldIsOurs() bool {
	return f.signed() && f.unreadable == nil && (f.key == nil || f.old.Verify(f.key.Public()) == nil)
}

// Vouches reports whether a file that is no part of the record may be shown: nothing is
// signed, or the signature in the folder covers it.
func (f Folder) Vouches(name string, data []byte) bool {
	if f.key == nil && !f.signed() {
		return true
	}
	return f.oldIsOurs() && f.old.Statement.Covers(name, data)
}

// Signed is the certificate as it will be signed in the folder; unchanged if it will not be.
// Without a key it is as the signature in the folder has it.
func (f Folder) Signed(c certificate.Certificate) certificate.Certificate {
	switch {
	case f.key != nil:
		return c.SignedBy(f.key.Public().ID(), f.sealed(c))
	case f.signed():
		old, err := certificate.Parse(f.old.Statement.Predicate)
		return c.SignedBy(f.old.KeyID, err == nil && old.Evidence.Sealed)
	}
	return c
}

// sealed reports whether the key has sealed the record of a certificate.
func (f Folder) sealed(c certificate.Certificate) bool {
	data, err := foreign.ReadFile(filepath.Join(f.run, record.SealFile), MaxFile)
	return err == nil && signature.VerifySeal(data, f.key.Public(), c.Run, c.Evidence.ManifestSHA256) == nil
}

// Issue is a certificate that is ready to be written.
type Issue struct {
	Certificate certificate.Certificate
	Data        []byte // certificate.json
	files       []File
	bundle      []byte // nil: not signed
	folder      Folder
}

// Issue signs a certificate, which Signed has returned, with the files that show it, which
// are written too, and others that are there. Without a key, an existing signature of
// exactly these is kept; a signature of others is an error.
func (f Folder) Issue(c certificate.Certificate, files []File, others ...File) (Issue, error) {
	data, err := certificate.Marshal(c)
	if err != nil {
		return Issue{}, err
	}
	if len(data) > record.MaxDocument {
		return Issue{}, hint.With(fmt.Errorf("%s would have %d bytes, and only %d are read of one", f.path(CertificateFile), len(data), record.MaxDocument),
			hint.Of(record.ErrChanged))
	}
	i := Issue{Certificate: c, Data: data, files: files, folder: f}
	if !c.Signed {
		return i, nil
	}
	want := signature.Statement{ManifestSHA256: c.Evidence.ManifestSHA256, Predicate: signature.Predicate(data)}
	for _, file := range append(files[:len(files):len(files)], others...) {
		want.Files = append(want.Files, signature.FileOf(file.Name, file.Data))
	}
	path := f.path(BundleFile)
	differs := ""
	if f.signed() && f.unreadable == nil {
		if differs = f.old.Statement.Difference(want); differs == "" && f.oldIsOurs() {
			i.bundle = f.before // signing again would change the bytes
			return i, nil
		}
		if f.old.Statement.ManifestSHA256 != want.ManifestSHA256 {
			return Issue{}, hint.With(fmt.Errorf("%s signs other evidence: the record is not the one that was signed", path),
				"restore the run folder as it was signed; to sign it as it is now, remove "+path+" first")
		}
	}
	if f.key == nil {
		what := "a different certificate"
		if differs != "" {
			what = "a different " + differs
		}
		return Issue{}, hint.With(fmt.Errorf("%s signs %s, and there is no key to sign the new one", path, what),
			"set ASSAY_SIGNING_KEY to sign it again, or remove "+path+" for an unsigned one")
	}
	i.bundle, err = signature.Sign(*f.key, data, want.ManifestSHA256, want.Files...)
	return i, err
}

// Path is the path of certificate.json.
func (i Issue) Path() string { return i.folder.path(CertificateFile) }

// BundlePath is the path of the signature; "" for an unsigned certificate.
func (i Issue) BundlePath() string {
	if i.bundle == nil {
		return ""
	}
	return i.folder.path(BundleFile)
}

// Write writes each file atomically, the certificate first and its signature last: if that
// fails, verify refuses the certificate because it states that it is signed.
func (i Issue) Write() error {
	files := append([]File{{CertificateFile, i.Data}}, i.files...)
	if i.bundle != nil {
		files = append(files, File{BundleFile, i.bundle})
	}
	return writeFiles(i.folder.run, i.folder.sub, files)
}
