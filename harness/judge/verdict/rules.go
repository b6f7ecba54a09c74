package verdict

// Rule is a validity rule and what it found.
type Rule struct {
	ID         string // RULEBOOK section 1
	Observed   *float64
	Limit      *float64 // nil: the rule shows, it does not limit
	Unit       string   // of both
	Outcome    Outcome
	Detail     string // what was found, for people
	Advice     string // what to do
	Limitation string // not empty: the run may be judged, and the claim says this
}

// rules is RULEBOOK section 1. The claim of an INVALID run names the first that
// is broken, so causes come before what follows from them: is the run whole and
// its record, was the load made as planned, does it show what is asked.
var rules = []struct {
	id    string
	check func(*evidence) Rule
}{
	{"complete", complete},
	{"frames", frames},
	{"open-loop", openLoop},
	{"seeded", seeded},
	{"start-skew", startSkew},
	{"window", windowLength},
	{"warm-up", warmUp},
	{"accounted", accounted},
	{"generator-drops", generatorDrops},
	{"offered", offered},
	{"generator-lag", generatorLag},
	{"generator-cpu", generatorCPU},
	{"machine", machine},
	{"clock", clock},
	{"steady", steady},
	{"samples", samples},
	{"per-class", perClass},
	{"co-location", coLocation},
	{"collector", collector},
	{"data", data},
	{"tool", tool},
	{"attempts", attempts},
}

func applyRules(e *evidence) []Rule {
	all := make([]Rule, 0, len(rules))
	for _, r := range rules {
		found := r.check(e)
		found.ID = r.id
		all = append(all, found)
	}
	return all
}

// holds is PASS or INVALID.
func holds(ok bool) Outcome {
	if ok {
		return Pass
	}
	return Invalid
}
