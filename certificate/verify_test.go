package certificate

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"assay.dev/assay/internal/signature"
)

// A certificate is refused with another key, after any change, and with the signature of
// another one.
func TestVerify(t *testing.T) {
	const run = "../internal/judge/audit/testdata/releases/0.1.0"
	read := func(path string) []byte {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	data, bundle, key := read(run+"/certificate.json"), read(run+"/certificate.sigstore.json"), read(run+".pub")
	if c, err := Verify(data, bundle, key); err != nil || c.Verdict != "PASS" || c.Run == "" {
		t.Errorf("%+v, %v", c, err)
	}
	private, public, err := signature.Generate(signature.Ed25519)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := signature.ParsePrivate(private)
	if err != nil {
		t.Fatal(err)
	}
	sign := func(data []byte, manifest string) []byte {
		signed, err := signature.Sign(signer, data, manifest)
		if err != nil {
			t.Fatal(err)
		}
		return signed
	}
	c, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	// A key in capitals is another key, of which a reader of "verdict" knows nothing.
	shouting := bytes.Replace(data, []byte(`"verdict": "PASS"`), []byte(`"verdict": "FAIL", "Verdict": "PASS"`), 1)
	if c, err := Parse(shouting); err != nil || c.Verdict != "FAIL" {
		t.Errorf("verdict %s with a second one in capitals, %v", c.Verdict, err)
	}
	ours, err := Marshal(c.SignedBy(signer.Public().ID(), true))
	if err != nil {
		t.Fatal(err)
	}
	manifest := c.Evidence.ManifestSHA256
	if _, err := Verify(ours, sign(ours, manifest), public); err != nil {
		t.Error(err)
	}
	for want, args := range map[string][3][]byte{
		"not PEM-encoded":           {data, bundle, nil},
		"not a sigstore bundle":     {data, nil, key},
		"signed with another key":   {data, bundle, public},
		"not what was signed":       {bytes.Replace(data, []byte(`"target": 20`), []byte(`"target": 200`), 1), bundle, key},
		"missing propert":           {[]byte("{}"), sign([]byte("{}"), manifest), public},
		"issuer is not the key":     {data, sign(data, manifest), public},
		"issued for another record": {ours, sign(ours, strings.Repeat("0", 64)), public},
	} {
		if c, err := Verify(args[0], args[1], args[2]); err == nil || !strings.Contains(err.Error(), want) || c.Run != "" {
			t.Errorf("%s: %v", want, err)
		}
	}
}
