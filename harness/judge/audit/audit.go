package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"time"

	"assay/harness/judge/certificate"
	"assay/harness/judge/certificate/signature"
	"assay/harness/judge/issue"
	"assay/harness/observe/record"
)

// Options of an audit.
type Options struct {
	Key      *signature.PublicKey // the issuer's; nil: not known
	Now      time.Time
	Tool     record.Tool      // this program
	Database *record.Database // as it is now; nil: it was not looked at
}

// Verify audits a run folder, or its certificate. An error means that there was
// nothing to read; the report says what is wrong with a certificate.
func Verify(path string, o Options) (Report, error) {
	f, err := find(path)
	if err != nil {
		return Report{}, err
	}
	c := f.certificate
	r := Report{Certificate: f.path, Run: c.Run, Profile: c.Profile, Verdict: c.Verdict, Claim: c.Claim, Broken: []string{}}
	if f.readable {
		r.Expires = &c.Expires
	}
	checkSchema(&r, f)
	checkSignature(&r, f, o.Key)
	checkPredicate(&r, f)
	checkEvidence(&r, f)
	run, opened := checkVerdict(&r, f, o.Tool)
	checkExpiry(&r, f, o.Now)
	checkFingerprint(&r, f, run, opened)
	checkDatabase(&r, f, o.Database)
	r.Authentic = len(r.Broken) == 0 && r.state(Signature) == OK
	return r, nil
}

func checkSchema(r *Report, f files) {
	switch err := certificate.Validate(f.data); {
	case f.data == nil:
		r.add(Schema, Failed, "%s is not there", f.path)
	case err != nil:
		r.add(Schema, Failed, "%v", err)
	case !f.readable:
		r.add(Schema, Failed, "a number in it is out of range")
	default:
		r.add(Schema, OK, "%s", certificate.SchemaName)
	}
}

func checkSignature(r *Report, f files, key *signature.PublicKey) {
	switch {
	case f.noBundle && f.certificate.Signed:
		r.add(Signature, Failed, "the certificate says that it is signed, and there is no %s", issue.BundleFile)
	case f.noBundle && key != nil:
		r.add(Signature, Failed, "the certificate is not signed, by this key or another")
	case f.noBundle:
		r.add(Signature, NotChecked, "the certificate is not signed")
	case f.bundleErr != nil:
		r.add(Signature, Failed, "%s: %v", issue.BundleFile, f.bundleErr)
	case f.readable && (f.certificate.Issuer == nil || *f.certificate.Issuer != f.bundle.KeyID):
		r.add(Signature, Failed, "the certificate names another issuer than the key that %s names", issue.BundleFile)
	case key == nil:
		r.add(Signature, NotChecked, "name the issuer's public key with --key: a key that comes with a certificate proves nothing")
	default:
		if err := f.bundle.Verify(*key); err != nil {
			r.add(Signature, Failed, "%v", err)
			return
		}
		r.add(Signature, OK, "%s key %s", key.Kind(), key.ID())
	}
}

func checkPredicate(r *Report, f files) {
	switch {
	case f.bundle == nil:
		r.add(Predicate, NotChecked, "there is no signed statement")
	case !bytes.Equal(f.bundle.Statement.Predicate, signature.Predicate(f.data)):
		r.add(Predicate, Failed, "%s is not what was signed", issue.CertificateFile)
	default:
		r.add(Predicate, OK, "%s is what the statement holds", issue.CertificateFile)
	}
}

// checkEvidence compares manifest, certificate and statement, then the files
// with the manifest.
func checkEvidence(r *Report, f files) {
	manifest, differences, err := record.Differences(f.run)
	if errors.Is(err, record.ErrNoRun) {
		r.add(Evidence, Failed, "there is none in %s: put the certificate back into its run folder", f.run)
		r.add(Subject, NotChecked, "there is no evidence")
		return
	}
	if err != nil {
		r.add(Evidence, Failed, "%v", err)
	}
	if manifest == nil {
		return
	}
	checkSubject(r, f, manifest)
	var m record.Manifest
	known := json.Unmarshal(manifest, &m) == nil
	switch {
	case !known || !f.readable:
		r.add(RunCheck, NotChecked, "the certificate or the manifest cannot be read")
	case m.Run == f.certificate.Run:
		r.add(RunCheck, OK, "%s", m.Run)
	default:
		r.add(RunCheck, Failed, "the certificate is of the run %.100q, the evidence of %.100q", f.certificate.Run, m.Run)
	}
	for _, d := range differences {
		r.add(Evidence, Failed, "%s %s", d.Path, d.How)
	}
	if err == nil && len(differences) == 0 {
		r.add(Evidence, OK, "all %d files are as they were sealed", len(m.Files))
	}
}

// checkSubject compares the manifest with what was signed and issued.
func checkSubject(r *Report, f files, manifest []byte) {
	sum := sha256.Sum256(manifest)
	digest := hex.EncodeToString(sum[:])
	switch {
	case f.bundle != nil && f.bundle.Statement.ManifestSHA256 != digest:
		r.add(Subject, Failed, "%s is not the one that was signed", signature.SubjectName)
	case !f.readable && f.bundle == nil:
		r.add(Subject, NotChecked, "the certificate cannot be read")
	case f.readable && f.certificate.Evidence.ManifestSHA256 != digest:
		r.add(Subject, Failed, "%s is not the one that the certificate was issued on", signature.SubjectName)
	default:
		r.add(Subject, OK, "%s has the SHA-256 %s", signature.SubjectName, digest)
	}
}

func checkExpiry(r *Report, f files, now time.Time) {
	switch at := f.certificate.Expires; {
	case !f.readable:
		r.add(Expiry, NotChecked, "the certificate cannot be read")
	case !now.Before(at):
		r.add(Expiry, Failed, "it expired on %s", at.Format(time.RFC3339))
	default:
		r.add(Expiry, OK, "until %s", at.Format(time.RFC3339))
	}
}

func checkFingerprint(r *Report, f files, run record.Run, opened bool) {
	if !opened || !f.readable {
		r.add(Fingerprint, NotChecked, "the evidence or the certificate cannot be read")
		return
	}
	want, has := certificate.Fingerprint(run.Environment), f.certificate.Environment.Fingerprint
	switch {
	case want == nil && has == nil:
		r.add(Fingerprint, NotChecked, "the run knew neither the database nor the service's build")
	case want == nil || has == nil || *want != *has:
		r.add(Fingerprint, Failed, "the certificate's is not that of the recorded environment")
	default:
		r.add(Fingerprint, OK, "%s", *has)
	}
}

// checkDatabase tells whether the database is still the one of the run.
func checkDatabase(r *Report, f files, now *record.Database) {
	switch was := f.certificate.Environment.Database; {
	case !f.readable:
		r.add(Database, NotChecked, "the certificate cannot be read")
	case was == nil:
		r.add(Database, NotChecked, "the run had none")
	case now == nil:
		r.add(Database, NotChecked, "not compared with the present one: name it with --db")
	default:
		changes := certificate.DatabaseChanges(*was, *now)
		for _, change := range changes {
			r.add(Database, Failed, "%s: certify again", change)
		}
		if len(changes) == 0 {
			r.add(Database, OK, "%s %s, and its settings are as they were", now.Flavour, now.Version)
		}
	}
}
