package metric

import (
	"fmt"
	"strings"
	"testing"

	"assay.dev/assay/internal/mask"
)

// Whatever a sender that is no worker of ours puts a secret of this process into, the record
// does not get it. Series that differ by nothing else are added up, and what the profile
// selects by stays, so that the verdict does.
func TestTextsOfOthersHoldNoSecret(t *testing.T) {
	const secret = `Zq7&x"w-long-enough`
	mask.AddDSN("assay:" + secret + "@tcp(db.test:3306)/shop")
	mask.Add("checkout-2026", "condition", "transaction_duration")
	mask.Keep("checkout-2026")
	name := strings.Repeat("s", maxServiceText-5) + secret // is cut within the secret
	m := sumOf(cumulative, "jobs."+secret,
		value(1, 2, 3, "name", secret, secret, "x", "of", "checkout-2026"),
		value(1, 2, 4, "name", "Zq7%26x%22w-long-enough", secret, "x", "of", "checkout-2026"))
	m.Unit = secret
	level := gaugeOf("level", value(1, 2, 7))
	refused := gaugeOf("too many "+strings.Repeat("s", maxServiceText-12)+secret, value(1, 2, 7, strings.Repeat("l", maxSeriesText), "x"))
	frames, taken := receive(t, NewAccumulation(opened), export("k6", service(name, stringAttr(attrInstance, name)), m, level, refused,
		sumOf(cumulative, "checks.total", value(1, 2, 5, "condition", "nonzero"))), 2)
	h := &Hist{}
	h.Record(1, 1)
	of, err := DecodeExport(mustEncode(t, Frame{Source: foreignPrefix + secret, Sequence: 1, Second: opened.Unix(), Points: []Point{
		{Series: NewSeries("h", "", secret, "x"), Kind: Histogram, Hist: h, Exemplars: []Exemplar{{Labels: []Label{{secret, secret}}}}},
	}}))
	if err != nil {
		t.Fatal(err)
	}
	all := fmt.Sprintf("%v %v %s", append(frames, of.Frames...), taken.Notices, taken.Response)
	if strings.Contains(all, "Zq7") {
		t.Errorf("%s", all)
	}
	want := NewSeries("jobs.***", "***", "name", "***", "***", "x", "of", "checkout-2026").Key() + "=7"
	if got := lines(frames); !strings.Contains(strings.Join(got, "\n"), want) || !strings.Contains(strings.Join(got, "\n"), "checks.occurred") {
		t.Errorf("%q lack %s", got, want)
	}
	if len(of.Frames) != 1 || len(of.Frames[0].Points[0].Exemplars) != 1 {
		t.Errorf("%v", of.Frames)
	}
}

func mustEncode(t *testing.T, f Frame) []byte {
	data, err := Encode(f)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// A target can tell a script a secret that this process knows, and the worker does not. The words
// of workers' own metrics stay, even if they are secrets too.
func TestTextsOfWorkersHoldNoSecret(t *testing.T) {
	const secret = "Zq7wordpartx9"
	mask.Add(secret, Completed, "payment", AtClient)
	h := &Hist{}
	h.Record(1, 1)
	own := []Point{
		CounterPoint(Of(Transactions, "scenario", "payment", "outcome", Completed), 1),
		CounterPoint(Of(Judged, "slo", "payment p(95)<5"), 1),
		{Series: Of(TransactionDuration, "scenario", "payment"), Kind: Histogram, Hist: h, Exemplars: []Exemplar{{Labels: append(ViolatesLabels([]string{"payment p(95)<5"}), Label{ExemplarOutcome, Completed})}}},
	}
	told := []Point{
		CounterPoint(NewSeries(Requests, "", "scenario", "payment", "name", "/login?dsn="+secret), 2),
		CounterPoint(NewSeries(Requests, "", "scenario", "payment", "name", "/login?dsn=5a7137776f7264706172747839"), 3), // hexadecimal
		CounterPoint(NewSeries("said "+secret, secret, secret, secret), 1),
		CounterPoint(Of(ErrorsByClass, "where", AtClient, "scenario", "payment", "class", secret), 1),
		{Series: NewSeries(RequestDuration, "ms", "scenario", "payment"), Kind: Histogram, Hist: h, Exemplars: []Exemplar{{Labels: []Label{{ExemplarError, secret}}}}},
	}
	d := &Decoder{Masked: true}
	for range 2 { // the series of the second message are known
		frames, err := d.Decode(mustEncode(t, Frame{Source: WorkerSource(0), Sequence: 1, Second: 1, Points: own}))
		if got := fmt.Sprint(frames); err != nil || d.Changed() || strings.Contains(got, "***") {
			t.Errorf("%v %v %s", err, d.Changed(), got)
		}
		frames, err = d.Decode(mustEncode(t, Frame{Source: WorkerSource(0), Sequence: 2, Second: 1, Points: told}))
		if err != nil || !d.Changed() {
			t.Fatal(err, d.Changed())
		}
		all := fmt.Sprint(lines(frames), frames[0].Points[len(told)-1].Exemplars)
		if strings.Contains(all, secret) || strings.Contains(all, "5a71") || strings.Count(all, "payment") != 4 || !strings.Contains(all, AtClient) {
			t.Error(all)
		}
		if a, b := frames[0].Points[0].Series.Key(), frames[0].Points[1].Series.Key(); a != b {
			t.Errorf("%s and %s differ by a secret alone", a, b)
		}
	}
}
