// SPDX-License-Identifier: Apache-2.0

package audit

// Advice is the next step for the holder of a certificate with failed checks, at least one.
func (r *Report) Advice() string {
	switch only := r.Broken[0]; {
	case len(r.Broken) > 1:
	case only == Signature:
		return "check that --key is the issuer's public key; if it is, do not rely on the certificate"
	case only == Expiry, only == Database, only == Fingerprint:
		return "certify again: the certificate has expired, or is for another environment"
	case only == Verdict:
		return "verify with the version of assay that judged it, or judge the run again with this version"
	case only == Files:
		return "restore the file as it was signed, or make all of them again: assay judge RUN"
	case only == Seal && r.refused():
		return "certify with ASSAY_SIGNING_KEY set, so that the run seals its record; --allow-unsealed accepts it as it is"
	case only == Rejudged:
		return "verify the run's own certificate, in the folder above; --allow-rejudged accepts this one"
	}
	if r.refused() {
		return "name the certificate that is meant, or certify what is required"
	}
	return "do not rely on it; ask the issuer for the original run folder"
}
