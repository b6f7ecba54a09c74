package verdict

import "strings"

// Rule is a validity rule and its result.
type Rule struct {
	ID         string // RULEBOOK section 1
	Observed   *float64
	Limit      *float64 // nil: the rule reports a value without a limit
	Unit       string   // of both
	Outcome    Outcome
	Detail     string // finding, for people
	Advice     string // what to do about it
	Limitation string // not empty: the run is judged, and the certificate states this limitation
}

// rules is RULEBOOK section 1. The claim of an INVALID run names the first broken
// rule, so that causes come before their consequences: whether the run and its record
// are complete, then whether the load was as planned, then whether the data suffice.
var rules = []struct {
	id    string
	check func(*evidence) Rule
}{
	{"worker-lost", workerLost},
	{"complete", complete},
	{"frames", frames},
	{faultsRule, faultsInjected},
	{"open-loop", openLoop},
	{"seeded", seeded},
	{"start-skew", startSkew},
	{"window", windowLength},
	{"warm-up", warmUp},
	{"accounted", accounted},
	{"cpu-throttled", cpuThrottled},
	{"generator-drops", generatorDrops},
	{"offered", offered},
	{"generator-lag", generatorLag},
	{"generator-cpu", generatorCPU},
	{"machine", machine},
	{"clock", clock},
	{"workers-even", workersEven},
	{"receiver", receiver},
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
		if r.id == faultsRule && len(e.Plan.Profile.Faults) == 0 {
			continue
		}
		found := r.check(e)
		found.ID = r.id
		all = append(all, found)
	}
	return all
}

// IsGeneratorRule reports whether a rule is about the offered load, not the system under
// test.
func IsGeneratorRule(id string) bool {
	return id == "offered" || id == "cpu-throttled" || strings.HasPrefix(id, "generator-")
}

func passOrInvalid(ok bool) Outcome {
	if ok {
		return Pass
	}
	return Invalid
}
