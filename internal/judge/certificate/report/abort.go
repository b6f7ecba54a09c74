// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"slices"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/judge/page"
	"assay.dev/assay/internal/quantity"
)

// abort shows the condition that stopped the run, what it protects, and what was read.
func abort(c certificate.Certificate) page.Block {
	a := c.Abort
	if a == nil {
		return nil
	}
	t := page.Table{
		Columns: slices.Concat(page.Names("condition"), page.Words("protects", "held"), page.Numbers("seconds read", "observed", "limit")),
		Rows: [][]page.Cell{page.Cells(a.Condition+" "+a.Expression, a.Protects, heldText(*a), fmt.Sprint(len(a.Observed)),
			cmp.Or(a.Range(), quantity.NoData), quantity.Limit(a.Limit, a.Unit))},
	}
	return page.Under("Aborted", t, note(abortNote(*a)))
}

// abortNote says what the abort means for the verdict.
func abortNote(a certificate.Abort) string {
	text := "A condition of the profile stopped the run to protect " + a.Protects
	if a.SLO {
		text += ": it is judged like an SLO"
	} else {
		text += ": it is not an SLO of the system under test"
	}
	if a.Truncated {
		return text + ". It held before what the SLOs judge had ended, so that the system did not sustain the load."
	}
	return text + ". It held after all that the SLOs judge, and does not change the verdict."
}

// heldText is from when to when the condition held.
func heldText(a certificate.Abort) string {
	return a.From.UTC().Format("15:04:05") + " to " + a.To.UTC().Format("15:04:05")
}

// abortSuite is the JUnit suite of a condition that is no SLO.
func abortSuite(c certificate.Certificate) *page.Suite {
	a, s := *c.Abort, suite(c, "abort")
	state, verdict := page.Good, "PASS"
	if a.Truncated {
		state, verdict = page.Bad, "FAIL"
	}
	text := fmt.Sprintf("held from %s, observed %s, limit %s", heldText(a), cmp.Or(a.Range(), quantity.NoData), quantity.Limit(a.Limit, a.Unit))
	s.Check(a.Condition+" "+a.Expression, state, verdict, text, "")
	s.SetOutput(abortNote(a))
	return s
}
