// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"fmt"
	"slices"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/wait"
)

// resources of the database that its clients share, with the wait classes of sessions that
// use them or queue for them. Locks are not among them: whose they are is seen from their
// holders.
var shared = [][]string{
	{wait.CPU, wait.Engine},
	{wait.Commit, wait.Binlog, wait.BufferPool},
	{"latch"},
}

// scarceQueueLength is the number of threads that wait for each of the database's CPUs from
// which its clients compete for them (ours).
const scarceQueueLength = 0.5

// chargeNeighbours charges to neighbours, resource by resource, their share of the sessions
// that use it: N / (N + S), where N is the number of their sessions on average, less that
// at the baseline, and S the number of the load's sessions to be expected at the judged
// rate if each transaction took as long as at the baseline.
func (c comparison) chargeNeighbours(charged, queued parts) {
	if c.clients.neighbours == nil {
		return
	}
	for _, classes := range shared {
		share := c.neighbourShare(classes)
		if share == 0 || slices.Contains(classes, wait.CPU) && !c.cpuScarce() {
			continue
		}
		moved := map[int]bool{}
		for _, class := range classes {
			at, known := c.index[wait.ComponentOf(class)]
			if known && !moved[at] && charged[at] > 0 {
				moved[at] = true
				for _, of := range []parts{charged, queued} {
					ms := share * of[at]
					of[c.index[Neighbour]] += ms
					of[at] -= ms
				}
			}
		}
	}
}

// neighbourShare is the share of a resource's sessions that are neighbours'.
func (c comparison) neighbourShare(classes []string) float64 {
	sessions := func(w window, of func(int) columnIndex) (n float64) {
		if w.parts == nil || w.sum[samples] == 0 {
			return 0
		}
		for i, class := range c.classes {
			if slices.Contains(classes, class) {
				n += w.sum[of(i)] / w.sum[samples]
			}
		}
		return n
	}
	neighbours, own := sessions(c.hold, c.neighbourClass), sessions(c.hold, c.class)
	if !c.noBaseline && c.base.parts != nil && c.base.sum[scheduled] > 0 {
		neighbours = max(0, neighbours-sessions(c.base, c.neighbourClass))
		own = sessions(c.base, c.class) * c.hold.perSecond(scheduled) / c.base.perSecond(scheduled)
	}
	if neighbours == 0 {
		return 0
	}
	return neighbours / (neighbours + own)
}

// cpuScarce reports whether clients of the database compete for its CPUs; also true if
// that is not known.
func (c comparison) cpuScarce() bool {
	if !c.known[databaseCPUs] || !c.known[databaseQueue] {
		return true
	}
	return c.lacksCPU(databaseProcess) || c.hold.sum[databaseQueue] >= scarceQueueLength*c.hold.sum[databaseCPUs] && !c.hasIdleCPU(databaseProcess, c.hold)
}

// neighbourUsesCPU reports whether the database's CPUs are scarce, and most of the demand
// for them is neighbours'. Waits of all kinds are then waits for a CPU, as if other
// processes used it.
func (c comparison) neighbourUsesCPU() bool {
	return c.clients.neighbours != nil && c.neighbourShare(shared[0]) > 0.5 && c.cpuScarce()
}

// largestNeighbour is the client with most sessions among the waits, and its number of
// sessions on average.
func largestNeighbour(all []certificate.Wait) (client string, sessions float64) {
	byClient := map[string]float64{}
	for _, w := range all {
		if w.Client == "" {
			continue
		}
		byClient[w.Client] += w.AAS
		if n := byClient[w.Client]; n > sessions {
			client, sessions = w.Client, n
		}
	}
	return client, sessions
}

// neighbourEvidence says which neighbour used the database, and by which statement.
func (a *analysis) neighbourEvidence() (all []string) {
	client, sessions := largestNeighbour(a.found.Waits)
	if client == "" {
		return nil
	}
	text := fmt.Sprintf("%s is another client of the database: on average %s of its sessions were active, mostly in %s", client, number(sessions), mostly(a.found.Waits, client))
	if digest, share := a.statementOf(client); digest != "" {
		text += fmt.Sprintf(", %s of them in the statement %s", percent(share), digest)
	}
	return append(all, text+".",
		"Clients are told apart by user, host, schema, program and process; the load's are those whose statements are executed as often as transactions end.")
}

// mostly is the class of most sessions of a client.
func mostly(all []certificate.Wait, client string) (class string) {
	byClass, most := map[string]float64{}, 0.0
	for _, w := range all {
		if w.Client == client {
			byClass[w.Class] += w.AAS
			if byClass[w.Class] > most {
				class, most = w.Class, byClass[w.Class]
			}
		}
	}
	return class
}

// statementOf is the statement in most sampled sessions of a client: its text or, if that
// is not known, its digest.
func (a *analysis) statementOf(client string) (text string, share float64) {
	byDigest, all, most := map[string]float64{}, 0.0, 0.0
	for _, s := range a.run.Timeline.Series(metric.DBSession) {
		if s.Label("client") != client {
			continue
		}
		n := sumOver(a.run.Timeline, metric.DBSession, exactly(s), a.spans)
		all += n
		digest := s.Label("digest")
		byDigest[digest] += n
		if digest != "" && byDigest[digest] > most {
			text, most = digest, byDigest[digest]
		}
	}
	for _, s := range a.run.Timeline.Series(metric.DBStatementTime) {
		if t := s.Label("statement"); t != "" && s.Label("digest") == text {
			return t, most / all
		}
	}
	if text != "" {
		text = "of digest " + text
	}
	return text, most / max(1, all)
}
