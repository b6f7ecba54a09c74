package audit

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"assay/harness/document"
	"assay/harness/judge/page"
	"assay/harness/judge/verdict"
)

// State is the result of a check.
type State string

// The states of checks.
const (
	OK         State = "ok"
	Failed     State = "failed"
	NotChecked State = "not checked"
)

// Names of the checks, in their order.
const (
	Signature   = "signature"
	Predicate   = "predicate"
	Schema      = "schema"
	Subject     = "subject"
	RunCheck    = "run"
	Evidence    = "evidence"
	Thresholds  = "thresholds" // of a re-judged certificate only
	Verdict     = "verdict"
	Expiry      = "expiry"
	Fingerprint = "fingerprint"
	Database    = "database"
)

// Check is the result of one check. A check of files may fail once for each.
type Check struct {
	Name   string `json:"check"`
	State  State  `json:"state"`
	Detail string `json:"detail"`
}

// Report is the result of an audit.
type Report struct {
	Certificate string     `json:"certificate"` // path
	Run         string     `json:"run"`
	Profile     string     `json:"profile"`
	Verdict     string     `json:"verdict"` // as stated in the certificate
	Claim       string     `json:"claim"`
	Authentic   bool       `json:"authentic"` // signed with the given key, and no check has failed
	Broken      []string   `json:"broken"`    // names of failed checks
	Expires     *time.Time `json:"expires"`
	Checks      []Check    `json:"checks"`
}

// Marshal is the report as a JSON document.
func (r Report) Marshal() ([]byte, error) {
	text, err := document.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("marshal audit: %w", err)
	}
	return text, nil
}

func (r *Report) add(name string, state State, format string, args ...any) {
	detail := fmt.Sprintf(format, args...)
	r.Checks = append(r.Checks, Check{name, state, detail})
	if state == Failed && !slices.Contains(r.Broken, name) {
		r.Broken = append(r.Broken, name)
	}
}

// skipOthers says of each check that was not made why it was not.
func (r *Report) skipOthers() {
	why := "as " + strings.Join(r.Broken, ", ") + " failed"
	for _, name := range []string{Signature, Predicate, Schema, Subject, RunCheck, Evidence, Verdict, Expiry, Fingerprint, Database} {
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

// Summary is the result in a word and in a sentence.
func (r *Report) Summary() (word, sentence string) {
	switch {
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
	if len(r.Broken) == 0 {
		p.Blocks = append(p.Blocks, page.Paragraph{Text: fmt.Sprintf("Verdict %s: %s", r.Verdict, r.Claim)})
	}
	return p
}
