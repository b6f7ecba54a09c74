// SPDX-License-Identifier: Apache-2.0

package mask

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// matcher finds secrets.
type matcher struct {
	by       [256][]string // secrets, by the first byte
	starts   [256]bool     // bytes that a secret can start with in the text
	shortest int           // length of the shortest secret, bytes
	longest  int           // bytes of text that one secret can take up
}

// lost is what encoders write for a byte that belongs to no character.
const lost = string(utf8.RuneError)

func newMatcher(secrets []string) *matcher {
	m := &matcher{shortest: len(secrets[0])}
	for _, s := range secrets {
		m.add(s)
	}
	for i := range len(escapes) {
		m.starts[escapes[i]] = true
	}
	return m
}

func (m *matcher) add(secret string) {
	firsts := []byte{secret[0]}
	if stray(secret, 0) {
		firsts = append(firsts, lost[0])
	}
	for _, first := range firsts {
		m.by[first] = append(m.by[first], secret)
		m.starts[first] = true
	}
	m.shortest = min(m.shortest, len(secret))
	m.longest = max(m.longest, len(secret)*maxUnit)
}

// stray reports whether a byte belongs to no character.
func stray(text string, at int) bool {
	if text[at] < utf8.RuneSelf {
		return false
	}
	for at > 0 && !utf8.RuneStart(text[at]) {
		at--
	}
	_, size := utf8.DecodeRuneInString(text[at:])
	return size == 1
}

// span is a part of a text.
type span struct{ from, to int }

// add adds a part behind the others, or beside them.
func add(all []span, s span) []span {
	if n := len(all) - 1; n >= 0 && s.from <= all[n].to {
		all[n].to = max(all[n].to, s.to)
		return all
	}
	return append(all, s)
}

// stepsPerByte bounds the readings that are looked at, per byte of a text, with so many bytes
// more for a short one. The weak place of this search is a secret of many backslashes, in a
// text of them; other texts of escapes alone need up to 80.
const stepsPerByte, shortText = 100, 1 << 8

// spans are the parts of a text that are secret. Secrets that overlap or touch are one part.
// The text may be encoded as a whole, or parts of it, that often.
func (m *matcher) spans(text string, depth int) (all []span) {
	const every = 1 << 12 // places after which the decoder forgets
	d := &decoder{text: text}
	for i := range len(text) {
		if i%every == 0 {
			d.forget(i)
		}
		if end := m.match(d, i); end >= 0 {
			all = add(all, span{i, end})
		}
		if d.steps > stepsPerByte*(len(text)+shortText) {
			return []span{{0, len(text)}} // nobody knows what it has
		}
	}
	if depth == 0 {
		return all
	}
	encoded := d.encoded(m, depth)
	if len(encoded) == 0 {
		return all
	}
	var merged []span
	for _, s := range slices.SortedFunc(slices.Values(append(all, encoded...)), func(a, b span) int { return a.from - b.from }) {
		merged = add(merged, s)
	}
	return merged
}

// mask replaces the secrets.
func (m *matcher) mask(text string) string {
	all := m.spans(text, depth)
	if all == nil {
		return text
	}
	var masked strings.Builder
	done := 0
	for _, s := range all {
		masked.WriteString(text[done:s.from])
		masked.WriteString(replacement)
		done = s.to
	}
	masked.WriteString(text[done:])
	return masked.String()
}

// whole is the length of the beginning of a text that can be masked alone: no secret goes
// beyond it, whatever follows the text. It is 0 for a text of at least twice the most that a
// secret can take up only if the text begins with secrets that go that far.
func (m *matcher) whole(text string) int {
	end := max(0, len(text)-m.longest)
	for _, s := range m.spans(text, depth) {
		if s.from < end && end < s.to {
			return s.from
		}
	}
	return end
}

// match is the end of the longest secret that begins at a place in the text; -1: none does.
func (m *matcher) match(d *decoder, at int) (end int) {
	text := d.text
	end = -1
	if !m.starts[text[at]] {
		return end
	}
	if !isEscape(text[at]) {
		for _, secret := range m.by[text[at]] {
			end = max(end, d.find(secret, at))
		}
		return end
	}
	if !mayMean(text, at, func(b byte) bool { return len(m.by[b]) > 0 }) {
		return end
	}
	first := d.readings(at, depth)
	for i, r := range first {
		known := slices.ContainsFunc(first[:i], func(o reading) bool { return o.text[0] == r.text[0] })
		if known {
			continue
		}
		for _, secret := range m.by[r.text[0]] {
			end = max(end, d.find(secret, at))
		}
	}
	return end
}

// mayMean reports whether the escape at a place in the text may mean one of some bytes, or
// begin a character that does. It decides most cases at little cost, as logs are full of
// quotes and spaces that are escaped.
func mayMean(text string, at int, one func(byte) bool) bool {
	escape, rest := text[at], text[at+1:]
	if one(escape) {
		return true
	}
	switch escape {
	case '+':
		return one(' ')
	case '\\':
		// Behind more than these is no other character that they escape.
		rest = strings.TrimLeft(rest[:min(len(rest), 1<<depth)], `\`)
		if rest == "" {
			return false
		}
		_, letter := letters[rest[0]]
		return letter || isOpen(rest[0]) || strings.IndexByte("xuU01234567", rest[0]) >= 0 || one(rest[0])
	case '%':
		if len(rest) < 2 {
			return false
		}
		value, err := strconv.ParseUint(rest[:2], 16, 8)
		return isOpen(rest[0]) || isOpen(rest[1]) || err == nil && (value >= utf8.RuneSelf || isOpen(byte(value)) || one(byte(value)))
	case '"', '\'':
		return false
	}
	return rest != "" && (rest[0] == '#' || isOpen(rest[0]) || slices.ContainsFunc(entities, func(e reading) bool {
		return e.text[1] == rest[0] && (e.text[0] == '&' || one(e.text[0]))
	}))
}

// find is the end of a secret that begins at a place in the text; -1: it does not. Where a
// text can be read in several ways, all are followed at once.
func (d *decoder) find(secret string, at int) int {
	text := d.text
	start := 0
	for start < len(secret) && at < len(text) && !isEscape(text[at]) && text[at] == secret[start] {
		start, at = start+1, at+1
	}
	switch {
	case start == len(secret):
		return at
	case at == len(text):
		return -1
	case text[at] == lost[0]:
	case !isEscape(text[at]) || !mayMean(text, at, func(b byte) bool { return b == secret[start] || b == lost[0] }):
		return -1
	}
	places := map[int][]int{start: {at}} // in the text, by how much of the secret is before them
	reach := func(done, place int) {
		if !slices.Contains(places[done], place) {
			places[done] = append(places[done], place)
		}
	}
	for done := start; done < len(secret); done++ {
		for _, p := range places[done] {
			for _, r := range d.readings(p, depth) {
				d.steps += 1 + len(places[done])/8 // to tell whether a place is new
				if strings.HasPrefix(secret[done:], r.text) {
					reach(done+len(r.text), r.end)
				}
				if r.text == lost && stray(secret, done) {
					reach(done+1, r.end)
				}
			}
			if strings.HasPrefix(text[p:], lost) && stray(secret, done) {
				reach(done+1, p+len(lost))
			}
		}
		delete(places, done)
		if len(places) == 0 {
			return -1
		}
	}
	return slices.Max(places[len(secret)])
}
