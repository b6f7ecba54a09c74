package report

import (
	"encoding/json"
	"testing"

	"assay/harness/judge/certificate"
	"assay/harness/judge/internal/synthetic"
)

func TestDiagnosisGolden(t *testing.T) {
	for name, r := range synthetic.Cases() {
		c := certify(r)
		text := string(Diagnosis(c))
		checkPage(t, text)
		golden(t, name+".diagnosis.txt", []byte(text))
	}
}

func TestDiagnosisJSONIsTheCertificates(t *testing.T) {
	c := certify(synthetic.Cases()["fail"])
	text, err := DiagnosisJSON(c)
	if err != nil {
		t.Fatal(err)
	}
	var got certificate.Certificate
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if got.Run != c.Run || got.Verdict != c.Verdict || got.Bottleneck.Sentence != c.Bottleneck.Sentence || len(got.Split) != len(c.Split) {
		t.Errorf("%s", text)
	}
}
