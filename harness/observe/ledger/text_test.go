package ledger_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"assay/harness/observe/ledger"
)

func TestTextRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := entries.Draw(t, "entries")
		got, err := ledger.ParseText(bytes.NewReader(ledger.AppendText(nil, want)))
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("%v, error %v, want %v", got, err, want)
		}
	})
}

func TestParseTextNamesTheLine(t *testing.T) {
	const good = "00112233445566778899aabbccddeeff 1795219933000\n"
	for text, want := range map[string]string{
		good + "nonsense":                       "line 2: not a hash and a time",
		good + good + "\n":                      "line 3: not a hash and a time",
		"00112233445566778899aabbccddee 1":      "line 1: not a hash and a time",
		"00112233445566778899aabbccddeeff":      "line 1: not a hash and a time",
		"00112233445566778899aabbccddeeff soon": "line 1: time: ",
		good + strings.Repeat("0", 1<<20):       "token too long",
	} {
		if _, err := ledger.ParseText(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: error %v, want %q", text, err, want)
		}
	}
}

// FuzzParseText: accepted entries survive a round trip through AppendText.
func FuzzParseText(f *testing.F) {
	f.Add([]byte(nil))
	f.Add(ledger.AppendText(nil, []ledger.Entry{{Hash: ledger.HashOf("r", "a"), Millis: 1795219933000}, {Millis: -1}}))
	f.Add([]byte("00112233445566778899AABBCCDDEEFF +7\r\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := ledger.ParseText(bytes.NewReader(text))
		if err != nil {
			if all != nil {
				t.Fatalf("%d entries with error %v", len(all), err)
			}
			return
		}
		again, err := ledger.ParseText(bytes.NewReader(ledger.AppendText(nil, all)))
		if err != nil || !slices.Equal(all, again) {
			t.Fatalf("%v became %v, error %v", all, again, err)
		}
	})
}
