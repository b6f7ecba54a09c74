package spec_test

import (
	"encoding/json"
	"strings"
	"testing"

	"assay.dev/assay/internal/spec"
)

// An SLO of a plan is what its expression says, or it is not read.
func TestSLOsAgreeWithTheirExpressions(t *testing.T) {
	for text, want := range map[string]string{
		`{"metric":"transaction_duration","expression":"p(99.9)<60","aggregate":"percentile","quantile":0.999,"operator":"<","bound":60}`:              "",
		`{"metric":"transaction_duration","expression":"p(99.9)<60","aggregate":"percentile","quantile":0.9990000000000001,"operator":"<","bound":60}`: "",
		`{"metric":"http_req_failed","expression":"rate<0.01","aggregate":"rate","operator":"<","bound":0.01,"basis":"counted"}`:                       "",
		`{"metric":"ledger","expression":"missing==0","aggregate":"exact","count":"missing","operator":"==","bound":0}`:                                "",
		`{"metric":"goodput","expression":"rate>0.9","aggregate":"rate","operator":">","bound":0.9}`:                                                   "",
		`{"metric":"transaction_duration","expression":"p(50)<60","aggregate":"percentile","quantile":0.5,"operator":"<","bound":1000}`:                "not what is stored beside it",
		`{"metric":"transaction_duration","expression":"p(50)<60","aggregate":"percentile","quantile":0.5,"operator":"<"}`:                             "not what is stored beside it",
		`{"metric":"transaction_duration","expression":"p(50)<60","aggregate":"percentile","quantile":0.01,"operator":"<","bound":60}`:                 "not what is stored beside it",
		`{"metric":"transaction_duration","expression":"p(50)<60","aggregate":"percentile","quantile":0.5,"operator":">","bound":60}`:                  "not what is stored beside it",
		`{"metric":"transaction_duration","expression":"p(50)<60","aggregate":"max","operator":"<","bound":60}`:                                        "not what is stored beside it",
		`{"metric":"transaction_duration","expression":"max<60","aggregate":"rate","operator":"<","bound":60}`:                                         "not what is stored beside it",
		`{"metric":"ledger","expression":"missing==0","aggregate":"exact","count":"duplicated","operator":"==","bound":0}`:                             "not what is stored beside it",
		`{"metric":"transaction_duration","expression":" p(50) < 60","aggregate":"percentile","quantile":0.5,"operator":"<","bound":60}`:               "not what is stored beside it",
		`{"metric":"transaction_duration","expression":"p(50)<-60","aggregate":"percentile","quantile":0.5,"operator":"<","bound":-60}`:                "is not a number",
		`{"metric":"transaction_duration","expression":"","aggregate":"percentile","quantile":0.5,"operator":"<","bound":60}`:                          "want an aggregate",
		`{"metric":"http_req_failed","expression":"rate<=1","aggregate":"rate","operator":"<=","bound":1}`:                                             "always holds",
		`{"metric":"http_req_failed","expression":"rate<0.01","aggregate":"rate","operator":"<","bound":0.01,"basis":"guessed"}`:                       "unknown basis",
		`{"metric":"http_req_failed","expression":"p(95)<1","aggregate":"percentile","quantile":0.95,"operator":"<","bound":1}`:                        "is a rate",
		`{"metric":"transaction_duration","expression":"max<60","aggregate":"max","operator":"<","bound":60,"basis":"inferred"}`:                       "always counted",
		`{"metric":"gateway_bytes","selector":[{"Key":"a","Value":"b"}],"expression":"max<60","aggregate":"max","operator":"<","bound":60}`:            "",
	} {
		var s spec.SLO
		err := json.Unmarshal([]byte(text), &s)
		if err == nil && want != "" || err != nil && (want == "" || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", text, err)
		}
		if want == "" && s.Expression == "p(99.9)<60" && s.Quantile != 0.999 {
			t.Errorf("quantile %v", s.Quantile)
		}
	}
}
