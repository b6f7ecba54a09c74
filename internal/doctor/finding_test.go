package doctor

import (
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/mask"
)

// What a server or script has said is printed without the secrets in it.
func TestFindingsHoldNoSecret(t *testing.T) {
	mask.AddDSN(`assay:Zq7&x"w@tcp(db.test:3306)/shop`)
	const text = `it says Zq7&x"w`
	all := Findings{{Check: CheckScript, State: Lacking, Observed: text, Needed: text, Why: text, Remedy: text, Limitation: text}}
	var printed strings.Builder
	if err := all.WriteText(&printed); err != nil {
		t.Fatal(err)
	}
	document, err := all.Marshal(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]string{"text": printed.String(), "JSON": string(document)} {
		if n := strings.Count(got, "it says ***"); strings.Contains(got, "Zq7") || n < 4 {
			t.Errorf("%s: %s", name, got)
		}
	}
	if all[0].Why != text {
		t.Error("the finding was changed")
	}
}
