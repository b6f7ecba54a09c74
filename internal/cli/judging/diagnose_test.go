package judging

import (
	"encoding/json"
	"testing"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/judge/certificate/build"
	"assay.dev/assay/internal/testing/synthetic"
)

func TestDiagnosis(t *testing.T) {
	c := build.Of(synthetic.Examples()["fail"])
	text, err := json.Marshal(diagnosisOf(c))
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
