package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"assay/harness/judge/verdict"
)

// matched are the runs that are compared, in pairs or as two groups.
type matched struct {
	a, b         []Run // in the order of their start; of pairs, run i of each
	leftA, leftB []LeftOut
	pairing      Pairing
	order        string // pairs in the order of their start, like "AB BA"
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

// match pairs runs in the order of their start, where A and B take turns: each
// two that follow each other are one of each, as in ABAB and ABBA. Changes
// of the machine then affect both. Runs that may not be judged are left
// out after that, and their partners with them.
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
		// A run's name settles what the same second leaves open, and puts a run
		// that stands on both sides beside itself.
		return cmp.Or(
			x.Certificate.Window.Start.Compare(y.Certificate.Window.Start),
			cmp.Compare(x.Certificate.Run, y.Certificate.Run), cmp.Compare(identity(x.Run), identity(y.Run)),
		)
	})
	switch why := whyUnpaired(all, len(a.Runs), len(b.Runs), unpaired); why {
	case "":
		m.pair(all)
	default:
		m.pairing.Detail = why
		for _, s := range all {
			if reason := Invalid(s.Run); reason != "" {
				m.exclude(s, reason, false)
			} else {
				m.include(s)
			}
		}
	}
	if m.pairing.Pairs == nil {
		m.pairing.Pairs = [][2]int{}
	}
	return m
}

func whyUnpaired(all []sidedRun, a, b int, unpaired bool) string {
	switch {
	case unpaired:
		return "not paired, as asked"
	case a != b:
		return fmt.Sprintf("not paired: %s of A and %s of B", runs(a), runs(b))
	}
	for i := 0; i < len(all); i += 2 {
		if all[i].ofB == all[i+1].ofB {
			return "not paired: A and B do not take turns"
		}
	}
	return ""
}

func (m *matched) pair(all []sidedRun) {
	var order []string
	for i := 0; i < len(all); i += 2 {
		first, second := all[i], all[i+1]
		broken := [2]string{Invalid(first.Run), Invalid(second.Run)}
		if broken == [2]string{} {
			m.pairing.Pairs = append(m.pairing.Pairs, [2]int{len(m.a), len(m.b)})
			m.include(first)
			m.include(second)
			order = append(order, first.letter()+second.letter())
			continue
		}
		for i, s := range []sidedRun{first, second} {
			if broken[i] != "" {
				m.exclude(s, broken[i], false)
			} else {
				m.exclude(s, "its partner "+[]sidedRun{second, first}[i].Folder+" is left out", true)
			}
		}
	}
	m.order = strings.Join(order, " ")
	m.pairing.Paired = true
	m.pairing.Detail = fmt.Sprintf("%s, in the order of their start", count(len(order), "pair"))
}

func (m *matched) include(s sidedRun) {
	if s.ofB {
		m.b = append(m.b, s.Run)
	} else {
		m.a = append(m.a, s.Run)
	}
}

func (m *matched) exclude(s sidedRun, reason string, judgeable bool) {
	left := LeftOut{s.Folder, reason, judgeable}
	if s.ofB {
		m.leftB = append(m.leftB, left)
	} else {
		m.leftA = append(m.leftA, left)
	}
}

// Invalid is why a run may not be judged, and so is not compared; empty: it may.
// A lost write makes a FAIL of it nevertheless, so that the rules decide.
func Invalid(r Run) string {
	for _, rule := range r.Certificate.Rules {
		if rule.Verdict == verdict.Invalid.String() {
			return "INVALID by the rule " + rule.ID + ": " + rule.Detail
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
