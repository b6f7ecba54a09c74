// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/judge/page"
	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/record"
)

// State is the result of a check.
type State string

// The states of checks.
const (
	OK         State = "ok"
	Failed     State = "failed"
	Allowed    State = "allowed" // would have failed, but for an option
	NotChecked State = "not checked"
)

// Names of the checks, in their order.
const (
	Signature   = "signature"
	Predicate   = "predicate"
	Schema      = "schema"
	Subject     = "subject"
	Files       = "files" // the pages that show the certificate
	Seal        = "seal"
	RunCheck    = "run"
	Evidence    = "evidence"
	Thresholds  = "thresholds" // a check of re-judged certificates only
	Verdict     = "verdict"
	Expiry      = "expiry"
	Fingerprint = "fingerprint"
	Database    = "database"
	Rejudged    = "rejudged" // a check of re-judged certificates only
)

// Names of the checks of what is required. The options have the same names.
const (
	ProfileCheck = "profile"
	Target       = "target"
	Scope        = "scope"
	MinRate      = "min-rate"
	Revision     = "revision"
	NotBefore    = "not-before"
)

// refusals are the checks that say nothing against a certificate, but that it is not the
// one that is required.
var refusals = []string{ProfileCheck, Target, Scope, MinRate, Revision, NotBefore, Rejudged}

// Check is the result of one check. A check of files may fail once for each.
type Check struct {
	Name   string `json:"check"`
	State  State  `json:"state"`
	Detail string `json:"detail"`
}

// Report is the result of an audit.
type Report struct {
	Certificate string `json:"certificate"` // path
	Run         string `json:"run"`
	Profile     string `json:"profile"` // this and what follows as stated in the certificate
	Verdict     string `json:"verdict"`
	Claim       string `json:"claim"`
	Target      string `json:"target"`
	Scope       string `json:"scope"`
	Rate        *Rate  `json:"rate"` // null: the certificate cannot be read

	Builds      []record.Build `json:"builds"`      // builds that the service reported
	Limitations []string       `json:"limitations"` // such as validity rules that the profile relaxes
	Rejudged    bool           `json:"rejudged"`    // by other thresholds than those of the run
	Sealed      bool           `json:"sealed"`      // the record, by the issuer's key

	Issued     *time.Time    `json:"issued"`
	Expires    *time.Time    `json:"expires"`
	Authentic  bool          `json:"authentic"` // signed with the given key, and no check has failed
	Broken     []string      `json:"broken"`    // names of failed checks
	Required   []Requirement `json:"required"`
	NotCovered []string      `json:"not_covered"` // files beside the certificate that no signature covers
	Checks     []Check       `json:"checks"`

	stated  certificate.Certificate
	details map[string]int // number of details of Checks, by name of the check
}

// Rate is the rate that a certificate is for, per second: with several flows, the highest that
// they hold together.
type Rate struct {
	Unit   string  `json:"unit"`
	Target float64 `json:"target"`
	Lowest float64 `json:"lowest"`
}

// Requirement is something that was required, and what the certificate states.
type Requirement struct {
	Name     string `json:"name"`
	Required string `json:"required"`
	Stated   string `json:"stated"`
	Held     bool   `json:"held"`
}

func newReport(f files) Report {
	c := f.stated
	r := Report{
		Certificate: f.path, Run: c.Run, Profile: c.Profile, Verdict: c.Verdict, Claim: c.Claim, Target: c.Environment.Target, Scope: c.Scope,
		Builds: []record.Build{}, Limitations: append([]string{}, c.Limitations...), Rejudged: c.Rejudged != nil, Sealed: c.Evidence.Sealed,
		Broken: []string{}, Required: []Requirement{}, NotCovered: []string{}, stated: c,
	}
	if s := c.Environment.Service; s != nil {
		r.Builds = append(r.Builds, s.Builds...)
	}
	return r
}

// maxDetails is how many details of one check are reported: a manifest may name many files
// that are missing.
const maxDetails = 20

func (r *Report) add(name string, state State, format string, args ...any) {
	if r.details == nil {
		r.details = map[string]int{}
	}
	switch r.details[name]++; {
	case r.details[name] <= maxDetails:
		r.Checks = append(r.Checks, Check{name, state, page.Message(fmt.Sprintf(format, args...))})
	case r.details[name] == maxDetails+1:
		r.Checks = append(r.Checks, Check{name, state, "and more"})
	}
	if state == Failed && !slices.Contains(r.Broken, name) {
		r.Broken = append(r.Broken, name)
	}
}

// skipOthers says of each check that was not made why it was not.
func (r *Report) skipOthers() {
	why := "as " + strings.Join(r.Broken, ", ") + " failed"
	for _, name := range []string{Signature, Predicate, Schema, Subject, Files, Seal, RunCheck, Evidence, Verdict, Expiry, Fingerprint, Database} {
		if !slices.ContainsFunc(r.Checks, func(c Check) bool { return c.Name == name }) {
			r.add(name, NotChecked, "%s", why)
		}
	}
}

// state is the state of a check: failed if it failed at least once.
func (r *Report) state(name string) State {
	found := NotChecked
	for _, c := range r.Checks {
		if c.Name == name {
			if found = c.State; found == Failed {
				return Failed
			}
		}
	}
	return found
}

// ExitCode is 2 if a check failed, otherwise that of the verdict.
func (r *Report) ExitCode() int {
	outcome, known := verdict.OutcomeOf(r.Verdict)
	if len(r.Broken) > 0 || !known {
		return 2
	}
	return outcome.ExitCode()
}

// refused reports whether nothing speaks against the certificate, but it is not accepted: it
// is not what is required, was re-judged, or states that its record is not sealed.
func (r *Report) refused() bool {
	for _, name := range r.Broken {
		if !slices.Contains(refusals, name) && (name != Seal || r.Sealed) {
			return false
		}
	}
	return len(r.Broken) > 0
}

// Problem says in one line which checks have failed; empty: none.
func (r *Report) Problem() string {
	switch {
	case len(r.Broken) == 0:
		return ""
	case !r.refused():
		return "the certificate is broken: " + strings.Join(r.Broken, ", ") + " failed"
	}
	var all []string
	for _, c := range r.Checks {
		if c.State == Failed {
			all = append(all, c.Name+": "+c.Detail)
		}
	}
	return page.Clean("the certificate is refused: " + strings.Join(all, "; "))
}

// Advice is the next step for the holder of a certificate with failed checks, at least one.
func (r *Report) Advice() string {
	switch only := r.Broken[0]; {
	case len(r.Broken) > 1:
	case only == Signature:
		return "check that --key is the issuer's public key; if it is, do not rely on the certificate"
	case only == Expiry, only == Database, only == Fingerprint:
		return "certify again: the certificate has expired, or is for another environment"
	case only == Verdict:
		return "verify with the version of assay that judged it, or judge the run again with this version"
	case only == Files:
		return "restore the file as it was signed, or make all of them again: assay judge RUN"
	case only == Seal && r.refused():
		return "certify with ASSAY_SIGNING_KEY set, so that the run seals its record; --allow-unsealed accepts it as it is"
	case only == Rejudged:
		return "verify the run's own certificate, in the folder above; --allow-rejudged accepts this one"
	}
	if r.refused() {
		return "name the certificate that is meant, or certify what is required"
	}
	return "do not rely on it; ask the issuer for the original run folder"
}

// Summary is the result in a word and in a sentence.
func (r *Report) Summary() (word, sentence string) {
	switch {
	case r.refused():
		return "REFUSED", "it is not what is accepted here: " + strings.Join(r.Broken, ", ") + " failed"
	case len(r.Broken) > 0:
		return "BROKEN", "do not rely on it: " + strings.Join(r.Broken, ", ") + " failed"
	case r.Authentic:
		return "AUTHENTIC", "issued by the key's owner, and unchanged since"
	case r.state(Signature) == NotChecked && r.state(Predicate) == OK:
		return "UNVERIFIED", "it agrees with its evidence, but its signature was not checked: pass the issuer's public key with --key"
	default:
		return "UNSIGNED", "it agrees with its evidence; its issuer is unknown"
	}
}

// Page is the report for people. Unless authentic, any text from the certificate may be
// forged.
func (r *Report) Page() page.Page {
	checks := page.Table{Columns: append(page.Words("", ""), page.Column{Kind: page.Prose})}
	for _, c := range r.Checks {
		checks.Rows = append(checks.Rows, page.Cells(string(c.State), c.Name, c.Detail))
	}
	word, sentence := r.Summary()
	p := page.Page{Blocks: []page.Block{
		page.Code{r.Certificate}, // not wrapped, for copying
		checks, page.Paragraph{Text: fmt.Sprintf("%s: %s.", word, sentence)},
	}}
	if len(r.Broken) > 0 && !r.refused() {
		return p
	}
	p.Blocks = append(p.Blocks, page.Paragraph{Text: fmt.Sprintf("Verdict %s: %s", r.Verdict, r.Claim)}, r.purpose())
	if len(r.Limitations) > 0 {
		p.Blocks = append(p.Blocks, page.Under("Limitations", page.List{Items: r.Limitations}))
	}
	if len(r.NotCovered) > 0 {
		p.Blocks = append(p.Blocks, page.Under("Not covered by the signature", page.List{Items: r.NotCovered, Limit: maxNamed}))
	}
	return p
}

// purpose is what the certificate is for.
func (r *Report) purpose() page.Facts {
	c := r.stated
	thresholds := c.Environment.Thresholds.Path
	if c.Rejudged != nil {
		thresholds = c.Rejudged.Thresholds.Path + ", not those of the run"
	}
	return page.Facts{
		{Name: "Profile", Text: c.Profile},
		{Name: "Target", Text: c.Environment.Target},
		{Name: "Rate", Text: rateText(c)},
		{Name: "Scope", Text: fmt.Sprintf("%s, %d s judged", c.Scope, c.Window.Seconds)},
		{Name: "Service", Text: buildsText(c.Environment.Service)},
		{Name: "Thresholds", Text: thresholds},
		{Name: "Tool", Text: toolText(c.Environment.Tool)},
		{Name: "Judged by", Text: buildText(c.JudgedBy)},
		{Name: "Issued", Text: c.Issued.Format(time.RFC3339)},
		{Name: "Run", Text: c.Run},
	}
}

// toolText names the program that made the record.
func toolText(t record.Tool) string {
	text := "tool revision " + t.Revision
	if t.Revision == "" {
		text = "a tool of unknown revision"
	}
	if t.Dirty {
		text += " (changed sources)"
	}
	return text
}
