package trials

import (
	"fmt"

	"al.essio.dev/pkg/shellescape"

	"assay.dev/assay/internal/quantity"
	"assay.dev/assay/internal/rulebook"
	"assay.dev/assay/internal/spec"
)

// CertifyCommand is the command that would certify a profile at a rate, with the
// options that select the system under test.
func CertifyCommand(p spec.Profile, rate float64, options []string) string {
	words := []string{"assay", "certify", p.Name, "--rate", quantity.Exact(rate)}
	if !p.HasStages() {
		words = append(words, "--hold", fmt.Sprintf("%.0fs", max(rulebook.CertificateHold, p.TargetHold()).Seconds()))
	}
	words = append(words, options...)
	return shellescape.QuoteCommand(words)
}
