package pi_test

import (
	"errors"
	"strings"
	"testing"

	"assay.dev/assay/internal/observe/collect/pi"
	"assay.dev/assay/internal/observe/database"
)

func TestParseInsights(t *testing.T) {
	for text, want := range map[string]pi.Instance{
		"pi:db-ABCDEFGHIJKLMNOPQRSTU1VW2X?region=eu-west-1": {Resource: "db-ABCDEFGHIJKLMNOPQRSTU1VW2X", Region: "eu-west-1"},
		"pi:db-ABCDE1": {Resource: "db-ABCDE1"},
	} {
		got, err := pi.Parse(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for text, words := range map[string]string{
		"pi:":                             "is not a Performance Insights resource",
		"pi:shop-writer?region=eu-west-1": "is not a Performance Insights resource",
		"db-ABCDE1":                       "is not a Performance Insights resource",
		"pi:db-ABCDE1?regoin=eu-west-1":   `unknown parameter "regoin"`,
		"pi:db-ABCDE1?region=Ireland":     `"Ireland" is not an AWS region`,
		"pi:db-ABCDE1?region=%zz":         "malformed query",
	} {
		_, err := pi.Parse(text)
		var known *database.Error
		if !errors.As(err, &known) || !strings.Contains(known.Problem, words) || known.Remedy == "" {
			t.Errorf("%s: %v", text, err)
		}
	}
}
