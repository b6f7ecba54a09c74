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
	order        string // of the runs within each pair, like "AB BA"
}

// sidedRun is a run with its side.
type sidedRun struct {
	Run
	ofB bool
}

func (s sidedRun) letter() string {
	if s.ofB {
		return "B"
	}
	return "A"
}

// match pairs runs in order of start if A and B alternate, that is if each two successive
// runs are one of each, as in ABAB and ABBA: changes of the machine then affect both.
// INVALID runs are left out afterwards, together with their partners.
func match(a, b Group, unpaired bool) matched {
	m := matched{leftA: append([]LeftOut{}, a.LeftOut...), leftB: append([]LeftOut{}, b.LeftOut...)}
	var all []sidedRun
	for _, r := range a.Runs {
		all = append(all, sidedRun{r, false})
	}
	for _, r := range b.Runs {
		all = append(all, sidedRun{r, true})
	}
	slices.SortStableFunc(all, func(x, y sidedRun) int {
		// Runs with the same start are ordered by name, which pairs a run that is in
		// both groups with itself.
		return cmp.Or(
			x.Certificate.Window.Start.Compare(y.Certificate.Window.Start),
			cmp.Compare(x.Certificate.Run, y.Certificate.Run), cmp.Compare(identity(x.Run), identity(y.Run)),
		)
	})
	if why := whyUnpaired(all, len(a.Runs), len(b.Runs), unpaired); why == "" {
		m.pair(all)
	} else {
		m.pairing.Detail = why
		m.includeValid(all)
	}
	if m.pairing.Pairs == nil {
		m.pairing.Pairs = [][2]int{}
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
	for i := 0; i < len(all); i += 2 {
		if all[i].ofB == all[i+1].ofB {
			return "not paired: the runs of A and B do not alternate"
		}
	}
	return ""
}

func (m *matched) includeValid(all []sidedRun) {
	for _, s := range all {
		if reason := Invalid(s.Run); reason != "" {
			m.exclude(s, LeftOut{Folder: s.Folder, Reason: reason})
		} else {
			m.include(s)
		}
	}
}

func (m *matched) pair(all []sidedRun) {
	var order []string
	for i := 0; i < len(all); i += 2 {
		first, second := all[i], all[i+1]
		if Invalid(first.Run) != "" || Invalid(second.Run) != "" {
			m.excludeFromPair(first, second)
			m.excludeFromPair(second, first)
			continue
		}
		m.pairing.Pairs = append(m.pairing.Pairs, [2]int{len(m.a), len(m.b)})
		m.include(first)
		m.include(second)
		order = append(order, first.letter()+second.letter())
	}
	m.order = strings.Join(order, " ")
	m.pairing.Paired = true
	m.pairing.Detail = fmt.Sprintf("%s, in order of start", count(len(order), "pair"))
}

// excludeFromPair leaves out a run of a pair in which it or its partner is INVALID.
func (m *matched) excludeFromPair(s, partner sidedRun) {
	left := LeftOut{Folder: s.Folder, Reason: Invalid(s.Run)}
	if left.Reason == "" {
		left.Reason, left.judgeable = "its partner "+partner.Folder+" is left out", true
	}
	m.exclude(s, left)
}

func (m *matched) include(s sidedRun) {
	if s.ofB {
		m.b = append(m.b, s.Run)
	} else {
		m.a = append(m.a, s.Run)
	}
}

func (m *matched) exclude(s sidedRun, left LeftOut) {
	if s.ofB {
		m.leftB = append(m.leftB, left)
	} else {
		m.leftA = append(m.leftA, left)
	}
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
