package certificate

import (
	"encoding/json"
	"testing"

	"assay.dev/assay/internal/testing/synthetic"
)

func TestMarshalDiagnosis(t *testing.T) {
	c := certify(synthetic.Examples()["fail"])
	text, err := MarshalDiagnosis(c)
	if err != nil {
		t.Fatal(err)
	}
	var got Certificate
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if got.Run != c.Run || got.Verdict != c.Verdict || got.Bottleneck.Sentence != c.Bottleneck.Sentence || len(got.Split) != len(c.Split) {
		t.Errorf("%s", text)
	}
}
