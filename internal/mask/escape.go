// SPDX-License-Identifier: Apache-2.0

package mask

import (
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// depth is how often text may be escaped: a value as JSON, in a log line that quotes it, in
// a page.
const depth = 3

// maxUnit is how many bytes of text one byte of a secret can take up.
const maxUnit = 64

// reading is one way to read the beginning of a text: the place after it, and what it means.
type reading struct {
	end  int
	text string // one character, or one byte of it
}

// decoder reads a text that may be escaped. It reads each place once.
type decoder struct {
	text  string
	read  [depth + 1]map[int][]reading // readings of escapes, by how often text may be escaped, and place
	steps int                          // readings that were looked at
}

// forget forgets what is in front of a place.
func (d *decoder) forget(before int) {
	for _, read := range d.read {
		for at := range read {
			if at < before {
				delete(read, at)
			}
		}
	}
}

// escapes are the characters that escapes begin with, however often text is escaped. The
// quotes stand for nothing else: SQL and CSV double them.
const escapes = `%\&+"'`

func isEscape(c byte) bool { return isOpen(c) || c == '"' || c == '\'' }

// isOpen reports whether an escape that begins so can be that of another character.
func isOpen(c byte) bool { return c == '%' || c == '\\' || c == '&' || c == '+' }

// letters are the characters that have a letter of their own after a backslash.
var letters = map[byte]string{'n': "\n", 't': "\t", 'r': "\r", 'b': "\b", 'f': "\f", 'v': "\v", 'a': "\a"}

// behindQuote is what follows a quote that stands for one: doubled, or in a shell's text,
// which is closed, has the quote, and is opened again.
var behindQuote = map[string][]string{`"`: {`"`}, "'": {"'", `\''`, `"'"'`}}

// entities are those of HTML that have a name.
var entities = []reading{{text: "&amp;"}, {text: "<lt;"}, {text: ">gt;"}, {text: `"quot;`}, {text: "'apos;"}}

// readings are the ways to read the text at a place, if it may be escaped that often. An
// escape is itself text that may be escaped: %255C is the backslash, twice in percent
// encoding, and %5Cn a line's end.
func (d *decoder) readings(at, depth int) []reading {
	if at >= len(d.text) {
		return nil
	}
	if depth == 0 || !isEscape(d.text[at]) {
		return []reading{{at + 1, d.text[at : at+1]}}
	}
	all, known := d.read[depth][at]
	if !known {
		all = d.decode(at, depth)
		if d.read[depth] == nil {
			d.read[depth] = map[int][]reading{}
		}
		d.read[depth][at] = all
	}
	return all
}

// decode is readings of an escape that was not read before.
func (d *decoder) decode(at, depth int) []reading {
	inner := d.readings(at, depth-1)
	all := slices.Clone(inner)
	add := func(end int, meaning string) {
		if r := (reading{end, meaning}); end-at <= maxUnit && !slices.Contains(all, r) {
			all = append(all, r)
		}
	}
	for _, r := range inner {
		d.steps++
		switch r.text {
		case `"`, "'":
			for _, more := range behindQuote[r.text] {
				for _, end := range d.after(r.end, depth-1, more) {
					add(end, r.text)
				}
			}
		case "+":
			add(r.end, " ")
		case "%":
			for _, digits := range d.hexadecimal(r.end, depth-1, 2) {
				code := rune(number(digits.text, 16))
				add(digits.end, string([]byte{byte(code)}))
				add(digits.end, string(code)) // by escape() of JavaScript
			}
		case "&":
			for _, e := range entities {
				for _, end := range d.after(r.end, depth-1, e.text[1:]) {
					add(end, e.text[:1])
				}
			}
			for _, number := range [...]struct {
				prefix string
				base   int
			}{{"#", 10}, {"#x", 16}, {"#X", 16}} {
				for _, start := range d.after(r.end, depth-1, number.prefix) {
					for _, n := range d.numbered(start, depth-1, number.base, ";") {
						add(n.end, n.text)
					}
				}
			}
		case `\`:
			for _, next := range d.readings(r.end, depth-1) {
				for _, e := range d.escaped(next, depth-1) {
					add(e.end, e.text)
				}
			}
		}
	}
	return all
}

// escaped is what a backslash and the next character mean.
func (d *decoder) escaped(next reading, depth int) (all []reading) {
	if len(next.text) == 1 {
		if meaning, known := letters[next.text[0]]; known {
			return []reading{{next.end, meaning}}
		}
	}
	all = []reading{next} // which is escaped as it is
	for n := range 3 {    // octal
		for _, digits := range d.hexadecimal(next.end, depth, n) {
			if code := number(next.text+digits.text, 8); code >= 0 && code <= 0xff {
				all = append(all, reading{digits.end, string([]byte{byte(code)})})
			}
		}
	}
	if next.text == "u" {
		for _, start := range d.after(next.end, depth, "{") {
			all = append(all, d.numbered(start, depth, 16, "}")...)
		}
	}
	width := map[string]int{"x": 2, "u": 4, "U": 8}[next.text]
	if width == 0 {
		return all
	}
	for _, digits := range d.hexadecimal(next.end, depth, width) {
		code := rune(number(digits.text, 16))
		if width == 2 {
			all = append(all, reading{digits.end, string([]byte{byte(code)})})
		}
		if !utf16.IsSurrogate(code) {
			all = append(all, reading{digits.end, string(code)})
			continue
		}
		for _, start := range d.after(digits.end, depth, `\u`) {
			for _, low := range d.hexadecimal(start, depth, 4) {
				if pair := utf16.DecodeRune(code, rune(number(low.text, 16))); pair != utf8.RuneError {
					all = append(all, reading{low.end, string(pair)})
				}
			}
		}
	}
	return all
}

// numbered is what the number of a character means, up to the end of its escape.
func (d *decoder) numbered(at, depth, base int, closing string) (all []reading) {
	const most = 7 // digits
	for n := 1; n <= most; n++ {
		found := d.hexadecimal(at, depth, n)
		if len(found) == 0 {
			break
		}
		for _, digits := range found {
			code := number(digits.text, base)
			for _, end := range d.after(digits.end, depth, closing) {
				if code >= 0 && code <= utf8.MaxRune {
					all = append(all, reading{end, string(rune(code))})
				}
			}
		}
	}
	return all
}

// hexadecimal reads so many digits.
func (d *decoder) hexadecimal(at, depth, n int) []reading {
	found := []reading{{at, ""}}
	for range n {
		var longer []reading
		for _, f := range found {
			for _, r := range d.readings(f.end, depth) {
				d.steps++
				if len(r.text) != 1 || !isHexadecimal(r.text[0]) {
					continue
				}
				if one := (reading{r.end, f.text + r.text}); !slices.Contains(longer, one) {
					longer = append(longer, one)
				}
			}
		}
		found = longer
	}
	return found
}

// after are the places after a word.
func (d *decoder) after(at, depth int, word string) []int {
	places := []int{at}
	for i := range len(word) {
		var next []int
		for _, p := range places {
			for _, r := range d.readings(p, depth) {
				d.steps++
				if r.text == word[i:i+1] && !slices.Contains(next, r.end) {
					next = append(next, r.end)
				}
			}
		}
		places = next
	}
	return places
}

// number is the value of digits; -1: they are not of this base.
func number(digits string, base int) int64 {
	n, err := strconv.ParseUint(digits, base, 32)
	if err != nil {
		return -1
	}
	return int64(n)
}
