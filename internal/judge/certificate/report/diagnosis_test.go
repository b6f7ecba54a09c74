package report

import (
	"testing"

	"assay.dev/assay/internal/judge/page"
)

func TestDiagnosisGolden(t *testing.T) {
	for _, name := range names {
		text := string(page.Terminal(Diagnosis(example(name)), page.Columns, false))
		checkPage(t, text)
		golden(t, name+".diagnosis.txt", []byte(text))
	}
}
