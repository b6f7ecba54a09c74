// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"assay.dev/assay/certificate"
)

// scriptErrors are the transactions that the script itself failed. They count against a PASS,
// and no FAIL rests on them.
func scriptErrors(p *part) []certificate.Omission {
	return []certificate.Omission{{
		What: "transactions that the script itself failed, on which no FAIL rests", Transactions: new(failedByScript(p.evidence)),
	}}
}
