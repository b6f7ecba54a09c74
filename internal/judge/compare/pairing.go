// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"assay.dev/assay/internal/judge/verdict"
)

// matched are the runs to compare, in pairs or as two groups.
type matched struct {
	a, b         []Run // in order of start; pair i is a[i], b[i]
	leftA, leftB []LeftOut
	pairing      Pairing
	order        string // order of the runs within each pair, like "AB BA"
}

// sidedRun is a run with its side.
type sidedRun struct {
	Run
	letter string // "A" or "B"
	runs   *[]Run
	left   *[]LeftOut
}

func (s sidedRun) include()             { *s.runs = append(*s.runs, s.Run) }
func (s sidedRun) exclude(left LeftOut) { *s.left = append(*s.left, left) }

// match pairs runs in order of start if A and B alternate, that is if each two successive
// runs are one of each, as in ABAB and ABBA: changes of the machine then affect both.
// INVALID runs are left out afterwards, together with their partners.
func match(a, b Group, unpaired bool) *matched {
	m := &matched{leftA: append([]LeftOut{}, a.LeftOut...), leftB: append([]LeftOut{}, b.LeftOut...)}
	m.pairing.Pairs = [][2]int{}
	var all []sidedRun
	for _, r := range a.Runs {
		all = append(all, sidedRun{r, "A", &m.a, &m.leftA})
	}
	for _, r := range b.Runs {
		all = append(all, sidedRun{r, "B", &m.b, &m.leftB})
	}
	slices.SortStableFunc(all, func(x, y sidedRun) int {
		// Runs with the same start are ordered by name, which pairs a run that is in
		// both groups with itself.
		return cmp.Or(
			x.Certificate.Window.Start.Compare(y.Certificate.Window.Start),
			cmp.Compare(x.Certificate.Run, y.Certificate.Run), cmp.Compare(identity(x.Run), identity(y.Run)),
		)
	})
	if m.pairing.Detail = whyUnpaired(all, len(a.Runs), len(b.Runs), unpaired); m.pairing.Detail == "" {
		m.pair(all)
		return m
	}
	for _, s := range all {
		if reason := Invalid(s.Run); reason != "" {
			s.exclude(LeftOut{Folder: s.Folder, Reason: reason})
		} else {
			s.include()
		}
	}
	return m
}

func whyUnpaired(all []sidedRun, a, b int, unpaired bool) string {
	switch {
	case unpaired:
		return "not paired, as requested"
	case a != b:
		return fmt.Sprintf("not paired: %s of A and %s of B", runs(a), runs(b))
	}
	for pair := range slices.Chunk(all, 2) {
		if pair[0].letter == pair[1].letter {
			return "not paired: the runs of A and B do not alternate"
		}
	}
	return ""
}

func (m *matched) pair(all []sidedRun) {
	var order []string
	for pair := range slices.Chunk(all, 2) {
		reasons := [2]string{Invalid(pair[0].Run), Invalid(pair[1].Run)}
		if reasons[0]+reasons[1] == "" {
			m.pairing.Pairs = append(m.pairing.Pairs, [2]int{len(m.a), len(m.b)})
			pair[0].include()
			pair[1].include()
			order = append(order, pair[0].letter+pair[1].letter)
			continue
		}
		for i, s := range pair {
			left := LeftOut{Folder: s.Folder, Reason: reasons[i]}
			if left.Reason == "" {
				left.Reason, left.judgeable = "its partner "+pair[1-i].Folder+" is left out", true
			}
			s.exclude(left)
		}
	}
	m.order, m.pairing.Paired = strings.Join(order, " "), true
	m.pairing.Detail = fmt.Sprintf("%s, in order of start", count(len(order), "pair"))
}

// Invalid is the reason why a run is not compared: a rule that makes it INVALID; empty:
// none. The rules decide, not the verdict, since a lost write turns INVALID into FAIL.
func Invalid(r Run) string {
	for _, rule := range r.Certificate.Rules {
		if rule.Verdict == verdict.Invalid.String() {
			return "INVALID by rule " + rule.ID + ": " + rule.Detail
		}
	}
	return ""
}

func runs(n int) string { return count(n, "run") }

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
