package audit

// Advice is the next step for who holds a certificate that is broken in these
// checks, of which there is at least one.
func Advice(broken []string) string {
	switch only := broken[0]; {
	case len(broken) > 1:
	case only == Signature:
		return "name the issuer's own public key with --key; if it is, do not rely on the certificate"
	case only == Expiry, only == Database, only == Fingerprint:
		return "certify again: what was certified is no longer what is there"
	case only == Verdict:
		return "verify with the version of assay that judged it, or judge the run again with this one"
	}
	return "do not rely on it: ask the issuer for the run folder as it was sealed"
}
