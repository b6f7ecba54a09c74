// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"slices"
	"time"
)

// SchemaName is the value of Certificate.Schema.
const SchemaName = "assay/certificate/v1"

// SchemaVersion is the semantic version of certificate.json: fields are added, never renamed.
// 1.1.0 has added judged_by, 1.2.0 left_out and checks.
const SchemaVersion = "1.2.0"

// Validity is how long a certificate is valid (docs/trust.md).
const Validity = 90 * 24 * time.Hour

// Limitation is the verdict of a rule that holds, but limits what may be claimed.
const Limitation = "LIMITATION"

// Certificate is certificate.json. Fields are added, never renamed; null is
// "no data", which is never 0.
type Certificate struct {
	Schema      string             `json:"schema" jsonschema:"enum=assay/certificate/v1"`
	Run         string             `json:"run" jsonschema:"minLength=1"`
	Profile     string             `json:"profile" jsonschema:"minLength=1"`
	Verdict     string             `json:"verdict" jsonschema:"enum=PASS,enum=FAIL,enum=INVALID,enum=INCONCLUSIVE"`
	Claim       string             `json:"claim" jsonschema:"minLength=1"`
	Rate        Rate               `json:"rate"`
	Window      Window             `json:"window"`
	Flows       []Flow             `json:"flows,omitempty"` // flows of the profile, each in its own windows; missing: the profile has one scenario
	SLOs        []SLO              `json:"slos"`
	Rules       []Rule             `json:"rules"`
	Latency     map[string]Latency `json:"latency" jsonschema:"requires=transaction"` // latency of transactions from their scheduled arrival ("transaction"), and of requests by name
	Outcomes    Outcomes           `json:"outcomes"`                                  // outcomes of the transactions scheduled in the judged windows
	Waits       []Wait             `json:"waits" jsonschema:"nullable"`               // null: the database was not sampled
	Split       []Split            `json:"split" jsonschema:"nullable"`               // mean time per transaction, by component; null: no transaction ran
	Bottleneck  *Bottleneck        `json:"bottleneck"`                                // component that made the run miss its SLOs, "none" or "undetermined"; null: no transaction ran
	Statements  []Statement        `json:"statements" jsonschema:"nullable"`          // digests that took most of the database's time; null: the database reported none
	Resources   []Resource         `json:"resources"`                                 // mean cost per transaction; only what was measured
	Errors      []Error            `json:"errors" jsonschema:"nullable"`              // errors in the judged windows, by who noticed them and by class; null: no transaction was scheduled
	Checks      []Check            `json:"checks,omitempty"`                          // checks of the script, those that failed most often first; missing: it has none
	Pool        *Pool              `json:"pool"`                                      // the service's pool of database connections; null: not reported
	Ledger      *Ledger            `json:"ledger"`                                    // over the whole run; null: acknowledged and persisted transactions were not compared
	LoadChanges []LoadChange       `json:"load_changes,omitempty"`                    // ends of overloads and steps up in load that an SLO judges, by flow and time; missing: there are none
	Faults      []Fault            `json:"faults,omitempty"`                          // faults that the run injected, and their ends, by time; missing: the profile has none
	Invariants  []Invariant        `json:"invariants,omitempty"`                      // invariants of the database, checked after the load; missing: the profile has none
	Abort       *Abort             `json:"abort,omitempty"`                           // condition of the profile that stopped the run; missing: none did
	Generator   Generator          `json:"generator"`
	Scope       string             `json:"scope" jsonschema:"enum=smoke,enum=certificate,enum=trial"`
	Signed      bool               `json:"signed"`
	Issuer      *string            `json:"issuer"`   // base64 SHA-256 of the signing key's public half (PKIX); null: not signed
	Rejudged    *Rejudged          `json:"rejudged"` // thresholds that replaced those of the run; null: not re-judged
	Environment Environment        `json:"environment"`
	Limitations []string           `json:"limitations" jsonschema:"minLength=1"`
	LeftOut     []Omission         `json:"left_out,omitzero"` // what did not enter a verdict on an SLO; empty: all of the run did; missing: not known
	Evidence    Evidence           `json:"evidence"`
	Attempts    *int               `json:"attempts" jsonschema:"minimum=1"` // runs of this profile at this target and revision of the service so far, this one included; null: not known
	Earlier     []Attempts         `json:"earlier_attempts,omitempty"`      // those before this one, by their verdicts; missing: there are none, or they are not known
	JudgedBy    *JudgedBy          `json:"judged_by,omitempty"`             // missing: by a build before 0.2.0
	Issued      time.Time          `json:"issued"`
	Expires     time.Time          `json:"expires"`

	// Transactions are examples to be looked up in the system under test, the slowest first;
	// missing: no request was marked.
	Transactions []Transaction `json:"transactions,omitempty"`
	Marking      *Marking      `json:"marking,omitempty"` // marking of the requests; missing: they were not marked
}

// Attempts is a number of runs with one verdict.
type Attempts struct {
	Verdict string `json:"verdict" jsonschema:"enum=PASS,enum=FAIL,enum=INVALID,enum=INCONCLUSIVE,enum=none"` // none: they were interrupted or killed, or have not ended
	Runs    int    `json:"runs" jsonschema:"minimum=1"`
}

// JudgedBy is the build that has judged the record. The same build makes the same bytes of
// the certificate again; another build makes the same decisions and figures, perhaps in
// other words.
type JudgedBy struct {
	Version  string `json:"version" jsonschema:"minLength=1"`
	Revision string `json:"revision"` // commit of the build; "+changed" if its sources were changed; empty: not known
	Rulebook string `json:"rulebook" jsonschema:"minLength=1"`
	Platform string `json:"platform" jsonschema:"minLength=1"` // like linux/amd64
}

// Rejudged names the thresholds that a run was judged by, if not its own.
type Rejudged struct {
	Thresholds Digest `json:"thresholds"` // whose SLOs and rules were used; everything else is from the run
}

// Flow is one of the profile's flows and its result. Its SLOs are among those of the
// certificate.
type Flow struct {
	Name     string             `json:"name" jsonschema:"minLength=1"`
	Scenario string             `json:"scenario" jsonschema:"minLength=1"` // path of its script
	Verdict  string             `json:"verdict" jsonschema:"enum=PASS,enum=FAIL,enum=INVALID,enum=INCONCLUSIVE"`
	Rate     Rate               `json:"rate"`
	Window   Window             `json:"window"`
	Outcomes Outcomes           `json:"outcomes"`
	Latency  map[string]Latency `json:"latency" jsonschema:"requires=transaction"`
	Ledger   *Ledger            `json:"ledger"` // null: not compared
}

// Marking is how the requests of the run are told from real ones.
type Marking struct {
	Header  string  `json:"header" jsonschema:"minLength=1"` // name of the header that held the run's id
	Value   string  `json:"value"`
	Sampled float64 `json:"sampled" jsonschema:"minimum=0,maximum=1"` // share of transactions whose trace was to be recorded
	Baggage bool    `json:"baggage"`
}

// NotSealed is the limitation of a signed certificate whose record the issuer's key has not
// sealed.
const NotSealed = "the key that signs this certificate has not sealed the record when the run ended: its owner does not vouch for what the record holds"

// SignedBy is the certificate as an issuer signs it. sealed: the issuer's key has sealed the
// record too.
func (c Certificate) SignedBy(issuer string, sealed bool) Certificate {
	c.Signed, c.Issuer, c.Evidence.Sealed = true, &issuer, sealed
	if !sealed {
		c.Limitations = append(slices.Clone(c.Limitations), NotSealed)
	}
	return c
}
