package audit

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"assay/harness/judge/page"
)

// State is how a check came out.
type State string

// The states of checks.
const (
	OK         State = "ok"
	Failed     State = "failed"
	NotChecked State = "not checked"
)

// Names of the checks, in the order in which they are made.
const (
	Schema      = "schema"
	Signature   = "signature"
	Predicate   = "predicate"
	Subject     = "subject"
	RunCheck    = "run"
	Evidence    = "evidence"
	Thresholds  = "thresholds" // of a re-judged certificate alone
	Verdict     = "verdict"
	Expiry      = "expiry"
	Fingerprint = "fingerprint"
	Database    = "database"
)

// Check is the result of one check. A check may fail several times, once for each
// file.
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
	Verdict     string     `json:"verdict"` // as the certificate states it
	Claim       string     `json:"claim"`
	Authentic   bool       `json:"authentic"` // signed with the key that was given, and no check failed
	Broken      []string   `json:"broken"`    // checks that have failed
	Expires     *time.Time `json:"expires"`
	Checks      []Check    `json:"checks"`
}

func (r *Report) add(name string, state State, format string, args ...any) {
	detail := fmt.Sprintf(format, args...)
	r.Checks = append(r.Checks, Check{name, state, detail})
	if state == Failed && !slices.Contains(r.Broken, name) {
		r.Broken = append(r.Broken, name)
	}
}

// state is the state of a check: failed where any of its results is.
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

// ExitCode is 2 for a certificate that is broken, else the verdict's.
func (r *Report) ExitCode() int {
	code, known := map[string]int{"PASS": 0, "FAIL": 1, "INVALID": 3, "INCONCLUSIVE": 4}[r.Verdict]
	if len(r.Broken) > 0 || !known {
		return 2
	}
	return code
}

// Status says in a word and a sentence whether the certificate can be relied upon.
func (r *Report) Status() (word, sentence string) {
	switch {
	case len(r.Broken) > 0:
		return "BROKEN", "do not rely on it: " + strings.Join(r.Broken, ", ") + " failed"
	case r.Authentic:
		return "AUTHENTIC", "the key's owner has issued it, and nothing has changed since"
	case r.state(Signature) == NotChecked && r.state(Predicate) == OK:
		return "UNVERIFIED", "it agrees with its evidence and carries a signature that was not checked: name the issuer's public key with --key"
	default:
		return "UNSIGNED", "it agrees with its evidence; who issued it cannot be told"
	}
}

// Page is the report for people. Its texts come from files that may be forged.
func (r *Report) Page() page.Page {
	checks := page.Table{Columns: append(page.Words("", ""), page.Column{Kind: page.Prose})}
	for _, c := range r.Checks {
		checks.Rows = append(checks.Rows, page.Cells(string(c.State), c.Name, c.Detail))
	}
	word, sentence := r.Status()
	p := page.Page{Blocks: []page.Block{
		page.Code{r.Certificate}, // in one piece, to be copied
		checks, page.Paragraph{Text: fmt.Sprintf("%s: %s.", word, sentence)},
	}}
	if len(r.Broken) == 0 {
		p.Blocks = append(p.Blocks, page.Paragraph{Text: fmt.Sprintf("Verdict %s: %s", r.Verdict, r.Claim)})
	}
	return p
}
