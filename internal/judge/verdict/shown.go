// SPDX-License-Identifier: Apache-2.0

package verdict

import "assay.dev/assay/certificate"

// These stand in the certificate as they are, with rounded numbers.
type (
	Rate        = certificate.Rate
	Window      = certificate.Window
	Outcomes    = certificate.Outcomes
	Latency     = certificate.Latency
	Ends        = certificate.Ends
	Percentiles = certificate.Percentiles
	Error       = certificate.Error
	Pool        = certificate.Pool
	Ledger      = certificate.Ledger
	Between     = certificate.Between
	Invariant   = certificate.Invariant
	Abort       = certificate.Abort
	Reading     = certificate.Reading
	Generator   = certificate.Generator
	Worker      = certificate.Worker
	Transaction = certificate.Transaction
)
