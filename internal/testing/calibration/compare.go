package calibration

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Row is one row of a table.
type Row struct {
	Label string // first cells, with their bars: they name the row
	Cells string // the other cells; shares are percentages with one decimal
	Runs  int    // simulated runs: the first of those behind the table's row
	Of    int    // all runs behind the table's row
}

// zero reports whether no run has what the columns count. The page leaves these rows out.
func (r Row) zero() bool {
	return !strings.ContainsAny(r.Cells, "123456789")
}

// Mode is what to do with the tables.
type Mode int

const (
	Sample Mode = iota // the first runs: their shares must be plausible given the tables
	Whole              // all runs: the tables must be the same
	Update             // all runs: write the tables
)

// Compare compares rows, by the name of their table, with the page, in which each table
// is between "<!-- name -->" and "<!-- /name -->"; or it writes them there.
func Compare(t *testing.T, page string, mode Mode, tables map[string][]Row) {
	t.Helper()
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	want := string(data)
	for name, rows := range tables {
		begin, end := "<!-- "+name+" -->\n", "<!-- /"+name+" -->"
		head, rest, found := strings.Cut(want, begin)
		table, tail, ended := strings.Cut(rest, end)
		if !found || !ended {
			t.Fatalf("%s has no markers for table %s", page, name)
		}
		if mode == Sample {
			for _, problem := range unlikely(table, rows) {
				t.Errorf("%s: %s; if the change is intended, make calibrate CALIBRATEFLAGS=-update writes the table", name, problem)
			}
			continue
		}
		var text strings.Builder
		for _, r := range rows {
			if !r.zero() {
				text.WriteString(r.Label + r.Cells + "\n")
			}
		}
		t.Logf("%s\n%s", name, text.String())
		lines := strings.SplitAfter(table, "\n")
		want = head + begin + lines[0] + lines[1] + text.String() + end + tail // the table's two head lines stay
	}
	switch {
	case mode == Update:
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	case want != string(data):
		t.Errorf("%s differs from the simulation; make calibrate CALIBRATEFLAGS=-update writes it", page)
	}
}

// level is the probability below which a number of runs is not taken as chance. The
// tables have some thousand shares.
const level = 1e-6

// share is a share of runs, in percent, in a row.
var share = regexp.MustCompile(`\d+\.\d\b`)

// unlikely reports shares that are not plausible for a sample of the runs behind the
// table: single shares, and the sum of each column.
func unlikely(table string, rows []Row) (problems []string) {
	var columns []sample
	for _, r := range rows {
		made := share.FindAllString(r.Cells, -1)
		all := slices.Repeat([]string{"0.0"}, len(made)) // a row that is left out
		if _, written, found := strings.Cut(table, r.Label); found {
			written, _, _ = strings.Cut(written, "\n")
			all = share.FindAllString(written, -1)
		}
		if len(made) != len(all) {
			problems = append(problems, fmt.Sprintf("%s has %d shares, in the table %d", r.Label, len(made), len(all)))
			continue
		}
		for len(columns) < len(all) {
			columns = append(columns, sample{chance: []float64{1}})
		}
		for i := range all {
			one := draw(count(made[i], r.Runs), r.Runs, count(all[i], r.Of), r.Of)
			if one.unlikely() {
				problems = append(problems, fmt.Sprintf("%s share %d is %s %% of %d runs, and %s %% of all %d", r.Label, i+1, made[i], r.Runs, all[i], r.Of))
			}
			columns[i] = columns[i].plus(one)
		}
	}
	for i, c := range columns {
		if c.unlikely() {
			problems = append(problems, fmt.Sprintf("share %d of all rows together: %d runs, expected %.1f", i+1, c.count, c.mean()))
		}
	}
	return problems
}

// count is the number of runs for a percentage of them.
func count(percent string, runs int) int {
	p, err := strconv.ParseFloat(percent, 64)
	if err != nil {
		panic(err) // the expression matches numbers only
	}
	return int(math.Round(p / 100 * float64(runs)))
}

// sample is a number of runs, and the probability of each possible number.
type sample struct {
	count  int
	chance []float64
}

// draw is a sample of k marked runs among n that were drawn without replacement from a
// population of size all with marked marked runs: the hypergeometric distribution,
//
//	P(k) = C(marked, k) C(all - marked, n - k) / C(all, n)
func draw(k, n, marked, all int) sample {
	choose := func(n, k int) float64 {
		if k < 0 || k > n {
			return math.Inf(-1)
		}
		factorial := func(n int) float64 { v, _ := math.Lgamma(float64(n) + 1); return v }
		return factorial(n) - factorial(k) - factorial(n-k)
	}
	s := sample{count: k, chance: make([]float64, n+1)}
	for i := range s.chance {
		s.chance[i] = math.Exp(choose(marked, i) + choose(all-marked, n-i) - choose(all, n))
	}
	return s
}

// plus is the sum of two independent samples.
func (s sample) plus(o sample) sample {
	sum := sample{count: s.count + o.count, chance: make([]float64, len(s.chance)+len(o.chance)-1)}
	for i, p := range s.chance {
		for j, q := range o.chance {
			sum.chance[i+j] += p * q
		}
	}
	return sum
}

func (s sample) mean() (mean float64) {
	for i, p := range s.chance {
		mean += float64(i) * p
	}
	return mean
}

// unlikely reports whether the probability of so few, or of so many, is below level.
func (s sample) unlikely() bool {
	below, above := 0.0, 0.0
	for i, p := range s.chance {
		if i <= s.count {
			below += p
		}
		if i >= s.count {
			above += p
		}
	}
	return min(below, above) < level
}
