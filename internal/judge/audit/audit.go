// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/judge/certificate/build"
	"assay.dev/assay/internal/judge/issue"
	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/signature"
)

// Options of an audit.
type Options struct {
	Key      *signature.PublicKey // the issuer's; nil: not given
	Now      time.Time
	Database *record.Database // in its current state; nil: not given
	Required Required

	AllowRejudged bool // accept a certificate by other thresholds than those of its run
	AllowUnsealed bool // accept a record that the issuer's key has not sealed
}

// Verify audits a run folder or a certificate. An error means that nothing could be
// read; failed checks are in the report.
func Verify(path string, o Options) (r Report, err error) {
	defer foreign.Guard(&err)
	required, err := o.Required.requirements(o.Now)
	if err != nil {
		return Report{}, err
	}
	if len(required) > 0 && o.Key == nil {
		return Report{}, hint.With(fmt.Errorf("--%s without --key: anybody may have written what is required", required[0].name), "name the issuer's public key: --key assay.pub")
	}
	f, err := find(path)
	if err != nil {
		return Report{}, err
	}
	r = newReport(f)
	// Each step relies on those before it. What was not signed, or is not what was sealed, is
	// not even decoded.
	var manifest []byte
	for _, step := range []func(){
		func() { checkSignature(&r, f, o.Key) },
		func() { checkPredicate(&r, f) },
		func() { f.decode(&r) },
		func() { checkIssuer(&r, f) },
		func() { manifest = checkSubject(&r, f) },
		func() { checkFiles(&r, f); checkSeal(&r, f, o) },
		func() { checkEvidence(&r, f, manifest) },
		func() {
			run, opened := checkVerdict(&r, f)
			checkExpiry(&r, f, o.Now)
			checkFingerprint(&r, f, run, opened)
			checkDatabase(&r, f, o.Database)
			checkRejudged(&r, f, o)
			checkTrial(&r, f)
			checkRequired(&r, f, required)
		},
	} {
		step()
		if slices.ContainsFunc(ends, func(name string) bool { return r.state(name) == Failed }) {
			break
		}
	}
	r.skipOthers()
	r.Authentic = len(r.Broken) == 0 && r.state(Signature) == OK
	return r, nil
}

// ends are the checks after whose failure nothing else is checked.
var ends = []string{Signature, Predicate, Schema, Subject, Evidence}

// checkSignature checks the signature before anything that it covers is read.
func checkSignature(r *Report, f files, key *signature.PublicKey) {
	switch {
	case f.unsigned && key != nil:
		r.add(Signature, Failed, "the certificate is not signed")
	case f.unsigned:
		r.add(Signature, NotChecked, "the certificate is not signed")
	case f.bundleErr != nil:
		r.add(Signature, Failed, "%s: %v", issue.BundleFile, f.bundleErr)
	case key == nil:
		r.add(Signature, NotChecked, "pass the issuer's public key with --key: a key that comes with a certificate proves nothing")
	default:
		if err := f.bundle.Verify(*key); err != nil {
			r.add(Signature, Failed, "%v", err)
			return
		}
		r.add(Signature, OK, "%s key %s", key.Kind(), key.ID())
	}
}

// checkIssuer compares what the certificate says of its signature.
func checkIssuer(r *Report, f files) {
	switch {
	case f.unsigned && f.stated.Signed:
		r.add(Signature, Failed, "the certificate states that it is signed, but there is no %s", issue.BundleFile)
	case !f.unsigned && (f.stated.Issuer == nil || *f.stated.Issuer != f.bundle.KeyID):
		r.add(Signature, Failed, "the certificate's issuer is not the key in %s", issue.BundleFile)
	}
}

func checkPredicate(r *Report, f files) {
	switch {
	case f.bundle == nil:
		r.add(Predicate, NotChecked, "there is no signed statement")
	case !bytes.Equal(f.bundle.Statement.Predicate, signature.Predicate(f.data)):
		r.add(Predicate, Failed, "%s is not what was signed", issue.CertificateFile)
	default:
		r.add(Predicate, OK, "%s is what was signed", issue.CertificateFile)
	}
}

// checkSubject compares the manifest with the signed and the issued one, and returns it.
func checkSubject(r *Report, f files) []byte {
	manifest, err := record.ReadManifest(f.run)
	if errors.Is(err, record.ErrNoRun) {
		r.add(Evidence, Failed, "no evidence in %s: put the certificate back into its run folder", f.run)
		return nil
	}
	if err != nil {
		r.add(Evidence, Failed, "%v", err)
		return nil
	}
	sum := sha256.Sum256(manifest)
	digest := hex.EncodeToString(sum[:])
	switch {
	case f.bundle != nil && f.bundle.Statement.ManifestSHA256 != digest:
		r.add(Subject, Failed, "%s is not the one that was signed", signature.SubjectName)
	case f.stated.Evidence.ManifestSHA256 != digest:
		r.add(Subject, Failed, "%s is not the one that the certificate was issued for", signature.SubjectName)
	default:
		r.add(Subject, OK, "%s has the SHA-256 %s", signature.SubjectName, digest)
	}
	return manifest
}

// checkEvidence compares the files with the manifest.
func checkEvidence(r *Report, f files, manifest []byte) {
	m, differences, err := record.Differences(f.run, manifest)
	if err != nil {
		r.add(Evidence, Failed, "%v", err)
		return
	}
	if m.Run == f.stated.Run {
		r.add(RunCheck, OK, "%s", m.Run)
	} else {
		r.add(RunCheck, Failed, "the certificate is for run %.100q, the evidence is of run %.100q", f.stated.Run, m.Run)
	}
	for _, d := range differences {
		r.add(Evidence, Failed, "%s %s", d.Path, d.How)
	}
	if len(differences) == 0 {
		r.add(Evidence, OK, "all %d files are unchanged since they were sealed", len(m.Files))
	}
}

// maxClock is how far the clocks of issuer and verifier may differ.
const maxClock = 5 * time.Minute

func checkExpiry(r *Report, f files, now time.Time) {
	switch at, issued := f.stated.Expires, f.stated.Issued; {
	case issued.After(now.Add(maxClock)):
		r.add(Expiry, Failed, "it was issued at %s, which is still to come", issued.Format(time.RFC3339))
	case !now.Before(at):
		r.add(Expiry, Failed, "expired on %s", at.Format(time.RFC3339))
	default:
		r.add(Expiry, OK, "until %s", at.Format(time.RFC3339))
	}
}

func checkFingerprint(r *Report, f files, run record.Run, opened bool) {
	if !opened {
		r.add(Fingerprint, NotChecked, "the evidence cannot be read")
		return
	}
	want, has := build.Fingerprint(run.Environment), f.stated.Environment.Fingerprint
	switch {
	case want == nil && has == nil:
		r.add(Fingerprint, NotChecked, "the run recorded neither the database nor the service's build")
	case want == nil || has == nil || *want != *has:
		r.add(Fingerprint, Failed, "the certificate's fingerprint is not that of the recorded environment")
	default:
		r.add(Fingerprint, OK, "%s", *has)
	}
}

// checkDatabase compares the current database with that of the run.
func checkDatabase(r *Report, f files, now *record.Database) {
	switch was := f.stated.Environment.Database; {
	case was == nil:
		r.add(Database, NotChecked, "the run had no database")
	case now == nil:
		r.add(Database, NotChecked, "the current database was not given: name it with --db")
	default:
		changes := databaseChanges(*was, *now)
		for _, change := range changes {
			r.add(Database, Failed, "%s: certify again", change)
		}
		if len(changes) == 0 {
			r.add(Database, OK, "%s %s, with unchanged settings", now.Flavour, now.Version)
		}
	}
}

// databaseChanges lists the differences between a database then and now.
func databaseChanges(was, is record.Database) (all []string) {
	change := func(what, was, is string) {
		was, is = mask.Text(was), mask.Text(is) // as the record has them
		if was != is {
			all = append(all, fmt.Sprintf("%s was %s, is %s", what, orNotSet(was), orNotSet(is)))
		}
	}
	change("the flavour", was.Flavour, is.Flavour)
	change("the version", was.Version, is.Version)
	names := slices.Collect(maps.Keys(was.Variables))
	for name := range is.Variables {
		if _, ok := was.Variables[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		change(name, was.Variables[name], is.Variables[name])
	}
	return all
}

func orNotSet(value string) string {
	if value == "" {
		return "not set"
	}
	return value
}
