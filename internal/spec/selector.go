// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"assay.dev/assay/internal/observe/metric"
)

// maxTags is the number of tags of a selector.
const maxTags = 64

// tagForm is one tag:value of a selector, either of them in quotes, and the comma before the next.
var tagForm = regexp.MustCompile(`^\s*("[^"]+"|'[^']+'|[^"':,{}]*[^"':,{}\s])\s*:\s*("[^"]+"|'[^']+'|[^"',{}]*[^"',{}\s])\s*(,|$)`)

// addSelector reads tag:value,tag:value.
func (s *SLO) addSelector(body string) (problem string) {
	for more := true; more; {
		m := tagForm.FindStringSubmatch(body)
		if m == nil {
			return quote(strings.TrimSpace(body)) + " is not tag:value, in quotes if it has commas, braces or quotes"
		}
		l := metric.Label{Key: unquoted(m[1]), Value: unquoted(m[2])}
		switch {
		case slices.ContainsFunc(s.Selector, func(o metric.Label) bool { return o.Key == l.Key }):
			return "duplicate tag " + quote(l.Key)
		case len(s.Selector) == maxTags:
			return fmt.Sprintf("more than %d tags", maxTags)
		}
		s.Selector, body, more = append(s.Selector, l), body[len(m[0]):], m[3] == ","
	}
	slices.SortFunc(s.Selector, func(a, b metric.Label) int { return strings.Compare(a.Key, b.Key) })
	return ""
}

func unquoted(text string) string {
	if text[0] == '"' || text[0] == '\'' {
		return text[1 : len(text)-1]
	}
	return strings.TrimSpace(text)
}
