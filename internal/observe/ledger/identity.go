// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"assay.dev/assay/internal/observe/database"
)

// minDigits is the length of the shortest identity, in hexadecimal digits, that stands
// for bits in either case: a shorter one may be a word or a code.
const minDigits = 16

// Canonical is an identity in the form in which it is hashed. The bits of a UUID, a ULID or of
// hexadecimal digits are the same identity in either case, with dashes and braces or without;
// any other text is as it is. Two identities of one form stay two.
func Canonical(id string) string {
	if bits, ok := bitsOf(id); ok {
		return bits
	}
	return id
}

// bitsOf are the bits that a text stands for, as hexadecimal digits in lower case.
func bitsOf(id string) (digits string, ok bool) {
	bare := id
	if n := len("urn:uuid:"); len(bare) > n && strings.EqualFold(bare[:n], "urn:uuid:") {
		bare = bare[n:]
	} else if n := len(bare) - 1; n > 0 && bare[0] == '{' && bare[n] == '}' {
		bare = bare[1:n]
	}
	if len(bare) == 36 && bare[8] == '-' && bare[13] == '-' && bare[18] == '-' && bare[23] == '-' {
		digits = bare[:8] + bare[9:13] + bare[14:18] + bare[19:23] + bare[24:]
		return strings.ToLower(digits), isHex(digits)
	}
	for _, prefix := range []string{`\x`, "0x", "0X"} { // of PostgreSQL's bytea, and of literals
		if digits, ok := strings.CutPrefix(id, prefix); ok && len(digits) > 0 && len(digits)%2 == 0 && isHex(digits) {
			return strings.ToLower(digits), true
		}
	}
	of := lettersOf(bare)
	switch {
	case of&lower != 0 && of&upper != 0: // as in base 62 and 64
		return "", false
	case len(bare) >= minDigits && len(bare)%2 == 0 && of&^hexDigits == 0:
		return strings.ToLower(bare), true
	case len(bare) == ulidLength && of&^(digit|lower|upper) == 0:
		return ulidBits(bare)
	}
	return "", false
}

// letters are the kinds of letters in a text.
type letters uint16

const (
	digit letters = 1 << iota
	lowerHex
	otherLower
	upperHex
	otherUpper
	dash
	underscore
	point
	colon
	slash
	otherLetter

	lower, upper = lowerHex | otherLower, upperHex | otherUpper
	hexDigits    = digit | lowerHex | upperHex
)

// kindOf is the kind of each byte.
var kindOf = func() (all [256]letters) {
	for c := range all {
		all[c] = otherLetter
	}
	for text, kind := range map[string]letters{
		"0123456789": digit, "abcdef": lowerHex, "ghijklmnopqrstuvwxyz": otherLower, "ABCDEF": upperHex, "GHIJKLMNOPQRSTUVWXYZ": otherUpper,
		"-": dash, "_": underscore, ".": point, ":": colon, "/": slash,
	} {
		for i := range len(text) {
			all[text[i]] = kind
		}
	}
	return all
}()

func lettersOf(text string) (all letters) {
	for i := range len(text) {
		all |= kindOf[text[i]]
	}
	return all
}

func isHex(text string) bool { return lettersOf(text)&^hexDigits == 0 }

// A ULID has 128 bits, 5 a letter of Crockford's base 32.
const (
	ulidLength = 26
	crockford  = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
)

func ulidBits(text string) (digits string, ok bool) {
	var high, low uint64
	for i := range len(text) {
		c := text[i]
		if kindOf[c]&lower != 0 {
			c -= 'a' - 'A'
		}
		value := strings.IndexByte(crockford, c)
		if value < 0 || i == 0 && value > 7 { // of the first letter 3 bits
			return "", false
		}
		high, low = high<<5|low>>59, low<<5|uint64(value)
	}
	bits := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, high), low)
	return hex.EncodeToString(bits), true
}

// maxExact is the largest integer up to which JavaScript's numbers are exact.
const maxExact = 1 << 53

// Form describes an identity without its value, as the script or the query has it. Identities
// of one form may be the same, those of two forms never are.
func Form(id string) string {
	if bits, ok := bitsOf(id); ok && !isNumber(id) {
		return bytesForm(len(bits) / 2)
	}
	switch {
	case isNumber(id) && len(id) > 1 && id[0] == '0':
		return fmt.Sprintf("%d digits with leading zeros", len(id))
	case isNumber(id):
		return numberForm(id)
	case lettersOf(id)&^(digit|point|dash) == 0 && isNumber(strings.Replace(strings.TrimPrefix(id, "-"), ".", "", 1)):
		return otherNumber
	}
	const long = 64
	length := strconv.Itoa(len(id)) + " characters"
	if len(id) > long {
		length = fmt.Sprintf("over %d characters", long)
	}
	of := lettersOf(id)
	for _, kind := range kindNames {
		if of&kind.letters != 0 {
			length += kind.name
		}
	}
	return length
}

var kindNames = []struct {
	letters
	name string
}{{lower, ", a-z"}, {upper, ", A-Z"}, {digit, ", 0-9"}, {dash, ", -"}, {underscore, ", _"}, {point, ", ."}, {colon, ", :"}, {slash, ", /"}, {otherLetter, ", others"}}

func bytesForm(n int) string {
	if n == 16 {
		return "16 bytes, as of a UUID"
	}
	return strconv.Itoa(n) + " bytes"
}

// Over2to53 and Rounded end the forms of integers over 2^53: of those that no number of
// JavaScript holds, and of those that it may have rounded.
const (
	Over2to53 = " over 2^53"
	Rounded   = Over2to53 + ", as a rounded Number"
)

const otherNumber = "number with a sign or a fraction"

func numberForm(digits string) string {
	form := strconv.Itoa(len(digits)) + "-digit number"
	if len(digits) < 16 {
		return form
	}
	number, err := strconv.ParseFloat(digits, 64)
	switch {
	case err != nil || number < maxExact || digits == "9007199254740992":
		return form
	case strconv.FormatFloat(number, 'f', -1, 64) == digits:
		return form + Rounded
	}
	return form + Over2to53
}

func isNumber(text string) bool { return text != "" && lettersOf(text) == digit }

// FormOf is the form of a stored identity.
func FormOf(id database.Identity) string {
	switch id.Kind {
	case database.Binary:
		return bytesForm(len(id.Text))
	case database.Number:
		if text := withoutZeros(id.Text); isNumber(text) {
			return numberForm(text)
		}
		return otherNumber
	}
	return Form(id.Text)
}

// Forms counts identities by form.
type Forms map[string]int64

// MaxForms bounds the number of forms; the other identities are of OtherForms.
const MaxForms = 16

// OtherForms stands for forms beyond the first ones.
const OtherForms = "other forms"

// Add counts an identity.
func (f Forms) Add(form string) {
	if _, known := f[form]; !known && len(f) >= MaxForms {
		form = OtherForms
	}
	f[form]++
}

// String names the form of most identities, and how many others there are.
func (f Forms) String() string {
	all := slices.SortedFunc(maps.Keys(f), func(a, b string) int {
		return cmp.Or(cmp.Compare(f[b], f[a]), strings.Compare(a, b))
	})
	switch len(all) {
	case 0:
		return "none"
	case 1:
		return all[0]
	}
	return fmt.Sprintf("%s (and %d other forms)", all[0], len(all)-1)
}

// Reading is how the identities of a query are read: what the script acknowledged is not
// always what a column holds. Each keeps two identities two.
type Reading struct {
	Name string // as in "read as ..."; empty: as they are
	kind database.Kind
	read func(text string) (string, bool)
}

// Plain reads identities as they are, bytes as hexadecimal digits.
var Plain Reading

// Of is the identity that a stored one stands for.
func (r Reading) Of(id database.Identity) string {
	if id.Kind == r.kind {
		if text, ok := r.read(id.Text); ok {
			return text
		}
	}
	if id.Kind == database.Binary {
		return hex.EncodeToString([]byte(id.Text))
	}
	return id.Text
}

// Readings are all there are, Plain first.
var Readings = readings()

func readings() []Reading {
	// order puts the bytes of a UUID in the order of its text.
	order := func(name string, from ...int) Reading {
		return Reading{name, database.Binary, func(text string) (string, bool) {
			if len(text) != 16 {
				return "", false
			}
			bytes := []byte(text)
			for to, at := range from {
				bytes[to] = text[at]
			}
			return hex.EncodeToString(bytes), true
		}}
	}
	all := []Reading{
		Plain,
		{"text", database.Binary, func(text string) (string, bool) { return strings.TrimRight(text, "\x00"), true }},
		{"hexadecimal digits in upper case", database.Binary, func(text string) (string, bool) {
			return strings.ToUpper(hex.EncodeToString([]byte(text))), true
		}},
		order("UUID_TO_BIN(id, 1) writes them", 4, 5, 6, 7, 2, 3, 0, 1),
		order("the bytes of a .NET Guid", 3, 2, 1, 0, 5, 4, 7, 6),
		{"a number of 8 bytes", database.Binary, func(text string) (string, bool) {
			if len(text) != 8 {
				return "", false
			}
			return strconv.FormatUint(binary.BigEndian.Uint64([]byte(text)), 10), true
		}},
		{"a number without trailing zeros", database.Number, func(text string) (string, bool) { return withoutZeros(text), true }},
	}
	const longest = 20 // digits of an integer of 64 bits
	for digits := 2; digits <= longest; digits++ {
		all = append(all, Reading{fmt.Sprintf("%d digits with leading zeros", digits), database.Number, func(text string) (string, bool) {
			text = withoutZeros(text)
			return strings.Repeat("0", max(0, digits-len(text))) + text, isNumber(text)
		}})
	}
	return all
}

// withoutZeros is a number without the zeros at the end of its fraction.
func withoutZeros(number string) string {
	if strings.Contains(number, ".") {
		return strings.TrimRight(strings.TrimRight(number, "0"), ".")
	}
	return number
}
