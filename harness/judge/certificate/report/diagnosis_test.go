package report

import (
	"testing"

	"assay/harness/judge/internal/synthetic"
	"assay/harness/judge/page"
)

func TestDiagnosisGolden(t *testing.T) {
	for name, r := range synthetic.Cases() {
		text := string(page.Terminal(Diagnosis(certify(r)), page.Columns, false))
		checkPage(t, text)
		golden(t, name+".diagnosis.txt", []byte(text))
	}
}
