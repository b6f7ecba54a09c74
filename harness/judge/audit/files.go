package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"assay/harness/judge/certificate"
	"assay/harness/judge/certificate/signature"
	"assay/harness/judge/issue"
)

// ErrNoCertificate says that a path holds nothing to verify.
var ErrNoCertificate = errors.New("no certificate is there")

// files is the certificate and its signature as they were found, before anything is
// checked.
type files struct {
	dir         string // of the certificate
	path        string // of certificate.json
	data        []byte // nil: it is not there
	certificate certificate.Certificate
	readable    bool // certificate could be decoded
	run         string
	bundle      *signature.Bundle
	noBundle    bool  // there is no bundle
	bundleErr   error // why the bundle cannot be read
}

// find takes a run folder, its certificate.json, or its signature. The evidence
// is looked for beside the certificate, or one folder up for a re-judged one.
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
	if f.data, err = optional(f.path); err != nil {
		return files{}, err
	}
	bundle, err := optional(filepath.Join(f.dir, issue.BundleFile))
	if err != nil {
		return files{}, err
	}
	if f.data == nil && bundle == nil {
		return files{}, fmt.Errorf("verify %s: %w", path, ErrNoCertificate)
	}
	if f.noBundle = bundle == nil; !f.noBundle {
		b, err := signature.Open(bundle)
		if f.bundleErr = err; err == nil {
			f.bundle = &b
		}
	}
	f.readable = f.data != nil && json.Unmarshal(f.data, &f.certificate) == nil
	f.run = f.dir
	if f.certificate.Rejudged != nil {
		f.run = filepath.Join(f.dir, "..")
	}
	return f, nil
}

// optional reads a file; nil where it does not exist.
func optional(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && !info.Mode().IsRegular() { // reading a pipe would block
		err = fmt.Errorf("%s is not a file", path)
	}
	if err != nil {
		return nil, fmt.Errorf("verify certificate: %w", err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("verify certificate: %w", err)
	}
	return append([]byte{}, data...), nil // an empty file is not nil
}
