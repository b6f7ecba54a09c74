package ledger_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"assay.dev/assay/internal/observe/ledger"
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
		"# 1 worker/0\nx":                       "line 2: not a hash and a time",
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

// batches have few sources, so that a text often has several of one.
var batches = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) batch {
	return batch{
		source:  rapid.SampledFrom([]string{"worker/0", "worker 1 ", "# 3", ""}).Draw(t, "source"),
		number:  rapid.Uint64().Draw(t, "number"),
		entries: entries.Draw(t, "entries"),
	}
}), 0, 5)

type batch struct {
	source  string
	number  uint64
	entries []ledger.Entry
}

// A text has the batches and, without their lines, the entries that were appended.
func TestBatchRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var text []byte
		var want []batch
		var all []ledger.Entry
		for _, b := range batches.Draw(t, "batches") {
			var err error
			if text, err = ledger.AppendBatch(text, b.source, b.number, b.entries); err != nil {
				t.Fatal(err)
			}
			want, all = append(want, batch{source: b.source, number: b.number}), append(all, b.entries...)
		}
		var got []batch
		err := ledger.EachBatch(bytes.NewReader(text), func(source string, number uint64) error {
			got = append(got, batch{source: source, number: number})
			return nil
		})
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(batch{})); err != nil || diff != "" {
			t.Fatalf("%v: %s", err, diff)
		}
		if parsed, err := ledger.ParseText(bytes.NewReader(text)); err != nil || !slices.Equal(parsed, all) {
			t.Fatalf("%v, error %v, want %v", parsed, err, all)
		}
	})
}

func TestBatchErrors(t *testing.T) {
	for _, source := range []string{"a\nb", "a\r", "\x00"} {
		if text, err := ledger.AppendBatch(nil, source, 1, nil); err == nil || len(text) > 0 {
			t.Errorf("source %q: %q, %v", source, text, err)
		}
	}
	for text, want := range map[string]string{
		"# worker/0":        "line 1: not the number and source",
		"# 1":               "line 1: not the number and source",
		"# 1 worker/0\n#\n": "line 2: not a hash",
		"# -1 worker/0":     "line 1: not the number and source",
	} {
		err := ledger.EachBatch(strings.NewReader(text), func(string, uint64) error { return nil })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

// FuzzEachBatch: what is accepted are batches that AppendBatch writes.
func FuzzEachBatch(f *testing.F) {
	f.Add([]byte("# 17 worker/0\n00112233445566778899aabbccddeeff 1795219933000\n# 18 worker/0\n"))
	f.Add([]byte("# 1 \r\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var got, again []batch
		add := func(to *[]batch) func(string, uint64) error {
			return func(source string, number uint64) error {
				*to = append(*to, batch{source: source, number: number})
				return nil
			}
		}
		if ledger.EachBatch(bytes.NewReader(text), add(&got)) != nil {
			return
		}
		var written []byte
		for _, b := range got {
			var err error
			if written, err = ledger.AppendBatch(written, b.source, b.number, nil); err != nil {
				return // a control character, which no writer accepts
			}
		}
		if err := ledger.EachBatch(bytes.NewReader(written), add(&again)); err != nil || !slices.EqualFunc(got, again, func(a, b batch) bool { return a.source == b.source && a.number == b.number }) {
			t.Fatalf("%v became %v, error %v", got, again, err)
		}
	})
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
