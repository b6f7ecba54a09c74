// SPDX-License-Identifier: Apache-2.0

package mask

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode"
	"unicode/utf8"
)

// replacement is in the place of each secret.
const replacement = "***"

// MinLength is the length from which on a secret is masked wherever it occurs, bytes. A
// shorter password would mask parts of ordinary words: it is masked only with the user in
// front of it, user:password@, and in the whole DSN.
const MinLength = 4

var (
	mu    sync.Mutex
	all   = map[string]bool{} // secrets, as they are
	known atomic.Pointer[matcher]
	odd   atomic.Pointer[matcher] // matcher of the secrets that are no words
)

// word matches a secret that may be a word of any text.
var word = regexp.MustCompile(`^[A-Za-z]+$`)

// Add registers secrets.
func Add(secrets ...string) {
	mu.Lock()
	defer mu.Unlock()
	before := len(all)
	for _, s := range secrets {
		for _, part := range lines(s) {
			if len(part) >= MinLength {
				all[part] = true
			}
		}
	}
	if len(all) > before {
		secrets := slices.Sorted(maps.Keys(all))
		known.Store(newMatcher(secrets))
		if secrets = slices.DeleteFunc(secrets, word.MatchString); len(secrets) > 0 {
			odd.Store(newMatcher(secrets))
		}
	}
}

// Line is Cut for a text that is to be one line of printable characters.
func Line(text string, most int) string {
	words := strings.FieldsFunc(Text(text), func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) })
	return Cut(strings.Join(words, " "), most)
}

// kept are the texts that stay as they are.
var kept sync.Map

// Keep names texts that Text leaves as they are, because rules and SLOs read them, even if a
// password is the same or a part of one. These texts are public.
func Keep(texts ...string) {
	for _, t := range texts {
		kept.Store(t, true)
	}
}

// Text masks the registered secrets in a text, unless Keep has named this text.
func Text(text string) string {
	m := known.Load()
	if m == nil {
		return text
	}
	if _, keep := kept.Load(text); keep {
		return text
	}
	return m.mask(text)
}

// Cut masks a text, and then cuts it to at most so many bytes of valid UTF-8. Text from others
// must not be cut in another way: a part of a secret would not be found.
func Cut(text string, most int) string { return Shorten(Text(text), most) }

// Shorten is Cut for a text that was masked when it was written. What is made of records must
// not depend on the secrets of whoever reads them.
func Shorten(text string, most int) string {
	const more = "..."
	text = strings.ToValidUTF8(text, "")
	if len(text) <= most {
		return text
	}
	end := most - len(more)
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + more
}

// Found reports whether a text that is written by hand, and recorded as it is, has a
// registered secret. A secret of letters alone is taken for a word of the text.
func Found(text string) bool {
	m := odd.Load()
	return m != nil && m.mask(text) != text
}

// Bytes is Text for a slice, which it does not change.
func Bytes(text []byte) []byte {
	if known.Load() == nil {
		return text
	}
	return []byte(Text(string(text)))
}
