package report

import (
	"testing"

	"assay.dev/assay/internal/judge/page"
	"assay.dev/assay/internal/testing/goldentest"
)

func TestDiagnosisGolden(t *testing.T) {
	for _, name := range names {
		text := string(page.Terminal(Diagnosis(example(name)), page.Columns, false))
		checkPage(t, text)
		goldentest.Compare(t, name+".diagnosis.txt", []byte(text))
	}
}
