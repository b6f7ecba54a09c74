// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"slices"
	"strings"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/spec"
)

// The queries of this file are about how the run ended once its judged windows had.

// Exit codes of k6 (errext/exitcodes) after a script whose teardown() took too long, threw, or
// stopped the test; the latter also after one whose transaction did.
const (
	exitTeardownTimeout = "101"
	exitScriptException = "107"
	exitScriptAborted   = "108"
	exitExternalAbort   = "105" // the run has stopped its workers
	exitMarkedAsFailed  = "110" // the script called exec.test.fail(), in any of its transactions
)

const markedAsFailed = "the script marked the test as failed"

// teardownFailed reports whether a worker's teardown() did. setup() has the same exit code, and
// fails before any load.
func teardownFailed(w record.Worker) bool {
	switch w.Exit {
	case exitTeardownTimeout, exitScriptException:
		return true
	}
	return w.Exit == exitScriptAborted && strings.Contains(w.Error, " at teardown")
}

// badEnds says how the script or a worker ended badly, each once: a run that was not stopped by
// that may still have been.
func badEnds(e *evidence) (all []string) {
	for _, w := range e.Facts.Workers {
		text := w.Source + " ended with status " + w.Exit
		switch {
		case w.Exit == "0" || w.Exit == "" || w.Exit == exitExternalAbort || isLost(e, w.Source):
			continue
		case teardownFailed(w):
			text = "teardown() failed"
		case w.Exit == exitScriptAborted:
			text = "the script stopped the test"
		case w.Exit == exitMarkedAsFailed:
			all = append(all, markedAsFailed)
			continue
		case w.Error == "":
			continue
		}
		if w.Error != "" {
			text += ": " + w.Error
		}
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	why := e.stopReason()
	if why != "" && (len(all) == 0 || stopper(e) == "") {
		all = append([]string{"the run was stopped: " + why}, all...)
	}
	return all
}

// afterWindows completes the rule on a run whose judged windows ran to their end: what ended
// badly later is a limitation. A teardown() that failed may have been to store, or to
// acknowledge, what the ledger compares.
func afterWindows(e *evidence, r *Rule) {
	all := badEnds(e)
	if len(all) == 0 {
		return
	}
	r.Detail = "after the judged windows: " + joinFirst(all, 3)
	r.Limitation, r.Advice = r.Detail, "Find out why it ended so; the judged windows are not affected."
	if slices.ContainsFunc(e.Plan.Profile.Flows, func(f spec.Flow) bool { return f.Ledger != nil }) &&
		slices.ContainsFunc(e.Facts.Workers, teardownFailed) {
		r.Outcome, r.Limitation = Invalid, ""
		r.Detail += "; the ledger may depend on it"
		r.Advice = "Fix the script's teardown(), then run again."
	}
}

// endedBadly is what ended badly after the judged windows.
func endedBadly(p *part) (all []certificate.Omission) {
	if p.Facts.T0.IsZero() || p.Facts.Ended.Sub(p.Facts.T0) < neededEnd(p.evidence) {
		return nil // the run is not judged
	}
	for _, text := range badEnds(p.evidence) {
		all = append(all, certificate.Omission{What: "after the judged windows: " + text, Weighs: text == markedAsFailed})
	}
	return all
}
