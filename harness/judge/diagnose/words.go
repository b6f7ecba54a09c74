package diagnose

import (
	"fmt"
	"math"
	"strings"

	"assay/harness/judge/verdict"
	"assay/harness/observe/wait"
	units "assay/harness/quantity"
)

// about is what there is to say of components that are no waits of the database.
var about = map[string]wait.Class{
	Generator: {
		Meaning: "the load generator itself was late",
		Remedy:  "more CPUs or more workers for the generator",
	},
	Network: {
		Meaning: "requests and answers are on their way",
		Remedy:  "keep connections open; fewer round trips; more bandwidth",
	},
	Service: {
		Meaning: "the service works on its requests itself",
		Remedy:  "profile the service; more CPUs or more instances of it",
	},
	Downstream: {
		Meaning: "the service waits for other services that it calls",
		Remedy:  "shorter time-outs, calls in parallel or afterwards, another provider",
	},
	Pool: {
		Meaning:     "statements wait for one of the service's database connections, while the database could do more",
		Experiments: []string{"pool-size"},
		Remedy:      "a larger pool; connections that are given back sooner",
	},
}

// server is the family of the run's database.
func (e *examination) server() wait.Server {
	if d := e.run.Environment.Database; d != nil {
		return wait.Server(d.Flavour)
	}
	return wait.MySQL
}

// explain is what is known of a component.
func (e *examination) explain(b *Bottleneck) wait.Class {
	if c, ok := about[b.Component]; ok {
		return c
	}
	class := b.Class
	if class == "" {
		class = b.Component
	}
	return wait.About(e.server(), b.Event, class)
}

// rates are what the windows were loaded with, a second.
func (e *examination) rates() (hold, base float64) {
	hold = e.hold.sum[scheduled] / e.hold.sum[seconds]
	if e.base.parts != nil {
		base = e.base.sum[scheduled] / e.base.sum[seconds]
	}
	return hold, base
}

// mean is a transaction's mean latency in a window.
func (e *examination) mean(s side) float64 { return s.sum[transactionTime] / s.sum[scheduled] }

// head says what a transaction takes.
func (e *examination) head() string {
	hold, base := e.rates()
	text := fmt.Sprintf("A transaction takes %s on average at %s/s", ms(e.mean(e.hold)), number(hold))
	switch {
	case e.base.parts == nil:
	case e.level:
		text += fmt.Sprintf(", and %s at %s/s, which breaks an SLO already", ms(e.mean(e.base)), number(base))
	default:
		text += fmt.Sprintf(", against %s at %s/s", ms(e.mean(e.base)), number(base))
	}
	return text
}

// nothing says where the time goes of a run that has nothing to explain.
func (e *examination) nothing() string {
	most := 0
	for i, v := range e.hold.parts {
		if v > e.hold.parts[most] && e.names[i] != Residual {
			most = i
		}
	}
	return fmt.Sprintf("Nothing has to be explained. %s; the largest part of it is %s with %s.", e.head(), e.names[most], ms(e.hold.parts[most]))
}

func (e *examination) withoutGrowth() string {
	return e.head() + ", and no component that was measured explains it."
}

// notByTime says that what is broken is not for the time of a transaction to
// explain: transactions fail, or acknowledged ones are lost.
func (e *examination) notByTime() string {
	all, verb := append(e.why.failures, e.why.others...), "is"
	if len(all) > 1 {
		verb = "are"
	}
	return fmt.Sprintf("%s %s broken, which a transaction's time does not explain. %s.", sloNames(all), verb, e.head())
}

// describe writes sentence, evidence and advice of a component that is named.
func (e *examination) describe(b *Bottleneck, f Findings) {
	known := e.explain(b)
	event := ""
	if b.Event != "" {
		event = " (" + b.Event
		if b.Inferred {
			event += ", inferred"
		}
		event += ")"
	}
	b.Sentence = fmt.Sprintf("%s. The bottleneck is %s%s, with %s a transaction: %s.", e.head(), b.Component, event, ms(*b.Growth), known.Meaning)
	b.Evidence = e.evidence(b.Component, f)
	b.Remedy = known.Remedy
	if known.Experiments != nil {
		b.Confirm = known.Experiments
	}
}

// describeDoubt does so of one that comes first and is not named.
func (e *examination) describeDoubt(b *Bottleneck, doubt string, f Findings) {
	b.Sentence = fmt.Sprintf("%s. What comes first is %s, with %s a transaction, but %s.", e.head(), b.Component, ms(*b.Growth), doubt)
	b.Evidence = []string{fmt.Sprintf("%s comes first in %s of %d resamples of the seconds.", b.Component, percent(*b.Confidence), resamples)}
	if b.RunnerUp != nil {
		b.Evidence = append(b.Evidence, fmt.Sprintf("%s comes second, with %s a transaction.", b.RunnerUp.Component, ms(b.RunnerUp.Growth)))
	}
	b.Evidence = append(b.Evidence, e.evidence(b.Component, f)...)
	if known := e.explain(b); known.Experiments != nil {
		b.Confirm = known.Experiments // or refute
	}
	b.Component = Undetermined
}

// describeRefusals does so of transactions that fail for want of connections.
func (e *examination) describeRefusals(b *Bottleneck) {
	known := wait.About(e.server(), "", Opening)
	hold, _ := e.rates()
	b.Sentence = fmt.Sprintf("At %s/s %s transactions fail, and the database refuses %s connections, as it has no room for more.",
		number(hold), number(e.hold.sum[failed]), number(e.hold.sum[refused]))
	b.Evidence = []string{fmt.Sprintf("Connections are refused in %s of %d resamples of the seconds.", percent(*b.Confidence), resamples)}
	if *b.Confidence < Sure {
		b.Component = Undetermined
		return
	}
	b.Sentence += fmt.Sprintf(" The bottleneck is %s: %s.", Opening, known.Meaning)
	b.Confirm, b.Remedy = known.Experiments, known.Remedy
}

// evidence is what else speaks for a component, and what the figures leave out.
func (e *examination) evidence(name string, f Findings) (all []string) {
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	pool, queue, ofDatabase := e.at[Pool], e.at[Queue], e.isDatabase(e.at[name])
	if e.excessMs[pool] >= 1 && e.roots[pool] == 0 && ofDatabase {
		add("%s of waiting for a connection are charged to what statements wait for: they became %s times slower, and at their former times the pool would do.",
			ms(e.excessMs[pool]), number(e.perTransaction(e.hold)/e.perTransaction(e.base)))
	}
	if name == Pool {
		add("%s", e.smallPool())
	}
	if e.excessMs[queue] >= 1 {
		add("%s of waiting for a free VU follow from it: all were busy with transactions that took long.", ms(e.excessMs[queue]))
	}
	if e.changed != "" {
		add("%s", e.changed)
	}
	if name == CPU {
		all = append(all, e.cpuEvidence(f.Statements)...)
	}
	if text := e.wakes(); text != "" && ofDatabase && name != CPU {
		add("%s", text)
	}
	if name == rowLock && e.holders.all > 0 {
		add("%s", e.holders.text())
	}
	if text := seemingSelect(e, f.Statements); text != "" && (name == Pool || ofDatabase) {
		add("%s", text)
	}
	if t := e.hold.sum[statementTime]; ofDatabase && t > 0 && e.hold.sum[samples] > 0 {
		if gap := e.sampledTime(e.hold.sum)/t - 1; math.Abs(gap) > unfinished-1 {
			add("Sampled time differs from the statements' counters by %+.0f %%.", 100*gap)
		}
	}
	if rest := e.roots[e.at[Residual]]; rest >= 1 {
		add("%s are in nothing that was measured.", ms(rest))
	}
	return append(all, "Times by component explain the mean, not a percentile.")
}

// smallPool is why the pool is taken for too small.
func (e *examination) smallPool() string {
	before := e.perTransaction(e.base)
	if before == 0 {
		return "Nothing tells of slow statements."
	}
	if share := e.inUse(e.hold, before); share >= fullPool {
		return fmt.Sprintf("At the statement times of the baseline %s of the %s connections would be in use: the pool queues by itself.",
			percent(share), number(e.hold.sum[poolMax]/e.hold.sum[seconds]))
	}
	return fmt.Sprintf("Statements became %s times slower: not what made connections scarce.", number(e.perTransaction(e.hold)/before))
}

// cpuEvidence says what the CPU is used for.
func (e *examination) cpuEvidence(statements []Statement) (all []string) {
	h := e.hold.sum
	if h[databaseCPU] > 0 {
		all = append(all, fmt.Sprintf("The database used %s of %s CPUs; %s of its threads were ready to run and did not, at any time.",
			number(h[databaseCPU]/h[seconds]), number(h[databaseCPUs]/h[seconds]), number(h[databaseQueue]/h[seconds])))
	}
	for _, s := range statements {
		if s.scans() && (e.level || s.slower()) {
			all = append(all, fmt.Sprintf("%s examines %s rows a call and takes %s of the database's time: an index may be missing.",
				s.Text, number(*s.RowsPerCall), percent(s.Share)))
			break
		}
	}
	return all
}

// text says what those did who held the rows that others waited for.
func (h holders) text() string {
	what := "in " + h.event
	if h.event == "idle" {
		what = "in open transactions that ran no statement: the application keeps them waiting"
	}
	return fmt.Sprintf("Who held the rows was %s for %s of those who waited.", what, percent(h.share))
}

func sloNames(all []verdict.SLO) string {
	var names []string
	for _, s := range all {
		names = append(names, s.Metric+" "+s.Expression)
	}
	return strings.Join(names, ", ")
}

func ms(v float64) string { return units.Format(v, "ms") }

func number(v float64) string { return units.Value(v, "") }

func percent(share float64) string { return units.Format(share, "share") }
