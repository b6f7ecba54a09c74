package spec

import "time"

// Scopes of a certificate.
const (
	Smoke       = "smoke"
	Certificate = "certificate"
)

// CertificateWindow is the least time for which a certificate holds its target
// (MLPerf Inference: 600 s); what is shorter is a smoke.
const CertificateWindow = 600 * time.Second
