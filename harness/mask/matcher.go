package mask

import (
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// matcher finds secrets.
type matcher struct {
	by      [256][]string // secrets, and other forms of them, by the first byte
	starts  [256]bool     // bytes that a secret can start with in the text
	longest int           // bytes of text that one secret can take up
}

// lost is what encoders write for a byte that belongs to no character.
const lost = string(utf8.RuneError)

func newMatcher(secrets []string) *matcher {
	m := &matcher{}
	seen := map[string]bool{}
	for _, s := range secrets {
		for _, form := range forms(s) {
			if !seen[form] {
				seen[form] = true
				m.add(form)
			}
		}
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

// minEncoded is how many characters of base64 or hexadecimal must be certain for a match:
// fewer occur by chance.
const minEncoded = 6

// forms are the secret itself and its encodings that are no escapes of single characters.
func forms(secret string) []string {
	all := []string{secret, hex.EncodeToString([]byte(secret)), strings.ToUpper(hex.EncodeToString([]byte(secret)))}
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		// A character of base64 holds six bits: those of a secret at any place in a longer
		// text are certain, except for the first and the last one, which it shares.
		for before := range 3 {
			text := encoding.EncodeToString([]byte(strings.Repeat("\x00", before) + secret))
			from, to := (before*8+5)/6, (before+len(secret))*8/6
			if to-from >= minEncoded {
				all = append(all, text[from:to])
			}
		}
	}
	return all
}

// span is a part of a text.
type span struct{ from, to int }

// spans are the parts of a text that are secret. Secrets that overlap or touch are one part.
func (m *matcher) spans(text string) (all []span) {
	const every = 1 << 12 // places after which the decoder forgets
	d := newDecoder(text)
	for i := range len(text) {
		if i%every == 0 {
			d.forget(i)
		}
		end := m.match(d, i)
		switch n := len(all) - 1; {
		case end < 0:
		case n >= 0 && i <= all[n].to:
			all[n].to = max(all[n].to, end)
		default:
			all = append(all, span{i, end})
		}
	}
	return all
}

// mask replaces the secrets.
func (m *matcher) mask(text string) string {
	all := m.spans(text)
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
// beyond it, whatever follows the text.
func (m *matcher) whole(text string) int {
	if m == nil {
		return len(text)
	}
	end := max(0, len(text)-m.longest)
	for _, s := range m.spans(text) {
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
		return letter || isEscape(rest[0]) || strings.IndexByte("xuU", rest[0]) >= 0 || one(rest[0])
	case '%':
		if len(rest) < 2 {
			return false
		}
		value, err := strconv.ParseUint(rest[:2], 16, 8)
		return isEscape(rest[0]) || isEscape(rest[1]) || err == nil && (value >= utf8.RuneSelf || isEscape(byte(value)) || one(byte(value)))
	}
	return rest != "" && (rest[0] == '#' || isEscape(rest[0]) || slices.ContainsFunc(entities, func(e reading) bool {
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
