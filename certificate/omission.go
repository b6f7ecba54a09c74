// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"fmt"
	"strconv"
	"strings"
)

// Omission is a part of the run that did not enter a verdict on an SLO, with what it was. A
// missing number is not a part of it, or not known.
type Omission struct {
	Reason       string   `json:"reason" jsonschema:"minLength=1"` // a name of the kind, like "unjudged-stage"
	Flow         string   `json:"flow,omitempty"`                  // missing: all flows
	What         string   `json:"what" jsonschema:"minLength=1"`   // what was left out, in words
	Seconds      *float64 `json:"seconds,omitempty"`
	Transactions *int64   `json:"transactions,omitempty"`
	Requests     *int64   `json:"requests,omitempty"`
	Checks       *int64   `json:"checks,omitempty"`
	Points       *int64   `json:"points,omitempty"` // data points of other senders
	Failed       *int64   `json:"failed,omitempty"` // of these transactions, requests or checks
	Weighs       bool     `json:"weighs"`           // it could have changed the verdict: the claim mentions it
}

// String is the omission in one line: "stage 3: 20 s, 2060 transactions, 1412 failed".
func (o Omission) String() string {
	var counts []string
	if o.Seconds != nil {
		counts = append(counts, strconv.FormatFloat(*o.Seconds, 'g', 4, 64)+" s")
	}
	for _, n := range []struct {
		count *int64
		noun  string
	}{{o.Transactions, "transactions"}, {o.Requests, "requests"}, {o.Checks, "checks"}, {o.Points, "points"}, {o.Failed, "failed"}} {
		if n.count != nil {
			counts = append(counts, fmt.Sprintf("%d %s", *n.count, n.noun))
		}
	}
	text := o.What
	if o.Flow != "" {
		text = o.Flow + ": " + text
	}
	if len(counts) > 0 {
		text += ": " + strings.Join(counts, ", ")
	}
	return text
}
