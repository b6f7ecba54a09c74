// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/judge/issue"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/signature"
)

// ErrNoCertificate: there is nothing to verify at a path.
var ErrNoCertificate = hint.With(errors.New("there is no certificate"),
	"name a run folder or its certificate.json, for example: assay verify runs/latest")

// files are the files of an audit, none of which is trusted yet.
type files struct {
	dir       string // folder of the certificate
	path      string // path of certificate.json
	data      []byte // nil: missing
	stated    certificate.Certificate
	run       string
	bundle    *signature.Bundle
	unsigned  bool  // there is no bundle
	bundleErr error // why the bundle cannot be read
}

// find reads the files of a run folder, given the folder, its certificate.json or its
// signature. The evidence is in the certificate's folder, or for a re-judged
// certificate in the parent folder.
func find(path string) (files, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return files{}, fmt.Errorf("verify %s: %w", path, ErrNoCertificate)
	}
	if err != nil {
		return files{}, fmt.Errorf("verify certificate: %w", err)
	}
	f := files{dir: path, path: filepath.Join(path, issue.CertificateFile)}
	if !info.IsDir() {
		f.dir, f.path = filepath.Dir(path), path
		if filepath.Base(path) == issue.BundleFile {
			f.path = filepath.Join(f.dir, issue.CertificateFile)
		}
	}
	if f.data, err = readOptional(f.path); err != nil {
		return files{}, err
	}
	bundle, err := readOptional(filepath.Join(f.dir, issue.BundleFile))
	if err != nil {
		return files{}, err
	}
	if f.data == nil && bundle == nil {
		return files{}, fmt.Errorf("verify %s: %w", path, ErrNoCertificate)
	}
	if f.unsigned = bundle == nil; !f.unsigned {
		b, err := signature.Open(bundle)
		if f.bundleErr = err; err == nil {
			f.bundle = &b
		}
	}
	return f, nil
}

// decode reads the certificate, and states in the report what it says.
func (f *files) decode(r *Report) {
	f.run = f.dir
	c, err := certificate.Parse(f.data)
	if err != nil {
		r.add(Schema, Failed, "%v", err)
		return
	}
	f.stated = c
	stated := newReport(*f)
	stated.Checks, stated.Broken = r.Checks, r.Broken
	stated.Expires, stated.Issued, stated.Rate = &c.Expires, &c.Issued, &Rate{c.Rate.Unit, c.Rate.Target, c.Rate.Lowest}
	*r = stated
	r.add(Schema, OK, "%s", certificate.SchemaName)
	if c.Rejudged != nil {
		f.run = filepath.Join(f.dir, "..")
	}
}

// readOptional is a file's content; nil if it does not exist.
func readOptional(path string) ([]byte, error) {
	data, err := foreign.ReadFile(path, record.MaxDocument)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("verify certificate: %w", err)
	}
	return append([]byte{}, data...), nil // not nil for an empty file
}
