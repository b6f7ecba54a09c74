package calibration

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// With 4 of 10 balls marked, 3 draws have k of them in C(4,k) C(6,3-k) of C(10,3) ways.
func TestDraw(t *testing.T) {
	for k, ways := range []float64{20, 60, 36, 4} {
		if got := draw(0, 3, 4, 10).chance[k]; math.Abs(got-ways/120) > 1e-12 {
			t.Errorf("%d: %g, want %g", k, got, ways/120)
		}
	}
	if both := draw(1, 3, 4, 10).plus(draw(2, 3, 4, 10)); both.count != 3 || math.Abs(both.mean()-2.4) > 1e-12 || math.Abs(both.chance[6]-1.0/900) > 1e-12 {
		t.Errorf("two draws: %+v", both)
	}
}

const written = `| source | load | shares |
|---|---|---|
| M/M/1, rho 0.5 | 50/s | 17 | 0.0, 5.0 | 100.0 |
| bursty | 50/s | 3 | 1.0, 5.0 | 100.0 |
`

func TestUnlikely(t *testing.T) {
	for name, c := range map[string]struct {
		first, second string // cells
		want          []string
	}{
		"as in the table":                {"99 | 0.0, 5.0 | 100.0 |", "99 | 0.0, 5.0 | 100.0 |", nil},
		"by chance":                      {"99 | 0.0, 15.0 | 100.0 |", "99 | 5.0, 0.0 | 100.0 |", nil},
		"one, where there is none":       {"99 | 5.0, 5.0 | 100.0 |", "99 | 0.0, 5.0 | 100.0 |", []string{"0.5 | 50/s | share 1"}},
		"not all, where all are":         {"99 | 0.0, 5.0 | 95.0 |", "99 | 0.0, 5.0 | 100.0 |", []string{"0.5 | 50/s | share 3", "share 3 of all rows"}},
		"far more than in the table":     {"99 | 0.0, 5.0 | 100.0 |", "99 | 0.0, 50.0 | 100.0 |", []string{"bursty | 50/s | share 2"}},
		"more in each row, all together": {"99 | 0.0, 35.0 | 100.0 |", "99 | 0.0, 35.0 | 100.0 |", []string{"share 2 of all rows"}},
		"another number of shares":       {"99 | 0.0 | 100.0 |", "99 | 0.0, 5.0 | 100.0 |", []string{"2 shares, in the table 3"}},
	} {
		got := unlikely(written, []Row{
			{"| M/M/1, rho 0.5 | 50/s |", " " + c.first, 20, 1000}, {"| bursty | 50/s |", " " + c.second, 20, 1000},
		})
		if len(got) != len(c.want) || !slices.EqualFunc(got, c.want, strings.Contains) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	// A row that is not in the table has no runs.
	if got := unlikely(written, []Row{{"| another | 50/s |", " 0.0 |", 20, 1000}}); len(got) != 0 {
		t.Errorf("a row that is left out: %q", got)
	}
	if got := unlikely(written, []Row{{"| another | 50/s |", " 5.0 |", 20, 1000}}); len(got) == 0 {
		t.Error("a row that must not be left out")
	}
}

// Written and compared, a page is the same.
func TestUpdate(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(page, []byte("text\n<!-- a -->\n"+written+"<!-- /a -->\nmore"), 0o644); err != nil {
		t.Fatal(err)
	}
	rows := map[string][]Row{"a": {{"| new | 50/s |", " 1.5 |", 200, 200}, {"| none | 50/s |", " 0 | 0.0 |", 200, 200}}}
	Compare(t, page, Update, rows)
	Compare(t, page, Whole, rows)
	Compare(t, page, Sample, rows)
	got, err := os.ReadFile(page)
	if want := "text\n<!-- a -->\n| source | load | shares |\n|---|---|---|\n| new | 50/s | 1.5 |\n<!-- /a -->\nmore"; err != nil || string(got) != want {
		t.Errorf("%q, %v", got, err)
	}
}
