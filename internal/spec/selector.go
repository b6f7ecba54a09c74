// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"fmt"
	"slices"
	"strings"

	"assay.dev/assay/internal/observe/metric"
)

// splitTags cuts tag:value,tag:value at the commas outside quotes.
func splitTags(body string) (tags []string, problem string) {
	start, open := 0, byte(0) // open: the quote that is not closed yet
	for i := range len(body) {
		switch c := body[i]; {
		case open != 0:
			if c == open {
				open = 0
			}
		case c == '"' || c == '\'':
			open = c
		case c == ',':
			tags = append(tags, body[start:i])
			start = i + 1
		case c == '{' || c == '}':
			return nil, fmt.Sprintf("braces inside %s: put the value in quotes", quote(body))
		}
	}
	if open != 0 {
		return nil, fmt.Sprintf("%s has no closing quote", quote(body))
	}
	return append(tags, body[start:]), ""
}

// maxTags is the number of tags of a selector.
const maxTags = 64

func (s *SLO) addSelector(tags []string) (problem string) {
	if len(tags) > maxTags {
		return fmt.Sprintf("%d tags, the limit is %d", len(tags), maxTags)
	}
	for _, tag := range tags {
		key, value, _ := strings.Cut(tag, ":")
		key, keyOK := unquote(key)
		value, valueOK := unquote(value)
		if key == "" || value == "" || !keyOK || !valueOK {
			return fmt.Sprintf("%s is not a tag:value", quote(tag))
		}
		if slices.ContainsFunc(s.Selector, func(l metric.Label) bool { return l.Key == key }) {
			return fmt.Sprintf("duplicate tag %s", quote(key))
		}
		s.Selector = append(s.Selector, metric.Label{Key: key, Value: value})
	}
	slices.SortFunc(s.Selector, func(a, b metric.Label) int { return strings.Compare(a.Key, b.Key) })
	return ""
}

// unquote trims spaces and one pair of quotes; ok is false if a quote is left.
func unquote(text string) (string, bool) {
	text = strings.TrimSpace(text)
	for _, q := range []string{`"`, `'`} {
		if len(text) >= 2 && strings.HasPrefix(text, q) && strings.HasSuffix(text, q) {
			inner := text[1 : len(text)-1]
			return inner, !strings.Contains(inner, q)
		}
	}
	return text, !strings.ContainsAny(text, `"'`)
}
