// SPDX-License-Identifier: Apache-2.0

package database

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// InsightsScheme is the prefix of a database whose waits are read from the
// Performance Insights API.
const InsightsScheme = "pi:"

// resourceID matches a DbiResourceId, such as db-ABCDEFGHIJKLMNOPQRSTU1VW2X.
var resourceID = regexp.MustCompile(`^db-[A-Z0-9]{4,60}$`)

// Insights is an instance as the Performance Insights API knows it.
type Insights struct {
	Resource string // DbiResourceId
	Region   string // empty: the region of the AWS environment
}

// ParseInsights reads pi:RESOURCE-ID?region=REGION.
func ParseInsights(text string) (Insights, error) {
	const example = "use the form pi:db-ABCDEFGHIJKLMNOPQRSTU1VW2X?region=eu-west-1; aws rds describe-db-instances shows the DbiResourceId"
	resource, query, _ := strings.Cut(strings.TrimPrefix(text, InsightsScheme), "?")
	if !strings.HasPrefix(text, InsightsScheme) || !resourceID.MatchString(resource) {
		return Insights{}, &Error{fmt.Sprintf("%q is not a Performance Insights resource", InsightsScheme+resource), example}
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return Insights{}, &Error{"malformed query after " + InsightsScheme + resource, example}
	}
	for name := range values {
		if name != "region" {
			return Insights{}, &Error{fmt.Sprintf("%s%s: unknown parameter %q, only region is allowed", InsightsScheme, resource, name), example}
		}
	}
	in := Insights{Resource: resource, Region: values.Get("region")}
	if in.Region != "" && !IsRegion(in.Region) {
		return Insights{}, &Error{fmt.Sprintf("%q is not an AWS region", in.Region), example}
	}
	return in, nil
}

// String is the form that ParseInsights reads. It contains no secret.
func (in Insights) String() string {
	if in.Region == "" {
		return InsightsScheme + in.Resource
	}
	return InsightsScheme + in.Resource + "?region=" + in.Region
}
