package audit

// Advice is the next step for the holder of a certificate with these failed checks, at
// least one.
func Advice(broken []string) string {
	switch only := broken[0]; {
	case len(broken) > 1:
	case only == Signature:
		return "check that --key is the issuer's public key; if it is, do not rely on the certificate"
	case only == Expiry, only == Database, only == Fingerprint:
		return "certify again: the certificate has expired, or is for another environment"
	case only == Verdict:
		return "verify with the version of assay that judged it, or judge the run again with this version"
	}
	return "do not rely on it; ask the issuer for the original run folder"
}
