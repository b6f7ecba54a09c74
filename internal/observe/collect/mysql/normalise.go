package mysql

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"assay.dev/assay/internal/observe/collect/sampling"
)

// normalise replaces the literals of a statement by ? and removes all differences from
// MariaDB's DIGEST_TEXT: case, spaces, backquotes, comments, and the number of values in
// lists: (?,?),(?,?) becomes (?). A text that the server truncated within such a list
// gives the same result as the whole text.
func normalise(text string) []byte {
	n := normaliser{out: make([]byte, 0, len(text)), open: -1}
	for i := 0; i < len(text); {
		i = n.token(text, i)
	}
	n.end()
	return n.out
}

type normaliser struct {
	out  []byte
	open int  // index of the innermost open parenthesis if it holds only values; else -1
	any  bool // the parenthesis holds a value
}

// token processes the token at text[i:] and returns the index of the next one.
func (n *normaliser) token(text string, i int) int {
	c, rest := text[i], text[i:]
	switch {
	case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == ';':
		return i + 1
	case strings.HasPrefix(rest, "/*"):
		return i + lengthThrough(rest, 2, "*/")
	case c == '#' || strings.HasPrefix(rest, "-- "):
		return i + lengthThrough(rest, 1, "\n")
	case c == '\'' || c == '"':
		n.value()
		return i + quotedLength(rest)
	case c == '`':
		length := quotedLength(rest)
		n.other(strings.Trim(rest[:length], "`"))
		return i + length
	case strings.HasPrefix(rest, "..."):
		n.value() // a list of values in DIGEST_TEXT
		return i + 3
	case c == '?':
		n.value()
		return i + 1
	case (c == '-' || c == '+') && n.isSign(rest[1:]):
		return i + 1
	case isDigit(c) || c == '.' && len(rest) > 1 && isDigit(rest[1]):
		n.value()
		return i + numberLength(rest)
	case isWord(c):
		length := wordLength(rest)
		if strings.EqualFold(rest[:length], "null") {
			n.value()
		} else {
			n.other(rest[:length])
		}
		return i + length
	case c == '@' && len(rest) > 1 && isWord(rest[1]): // DIGEST_TEXT hides the names of user variables
		n.other("@?")
		return i + 1 + wordLength(rest[1:])
	case c == '(':
		n.out = append(n.out, c)
		n.open, n.any = len(n.out)-1, false
	case c == ',':
		n.out = append(n.out, c)
	case c == ')':
		if n.open >= 0 && n.any {
			n.closeList()
		} else {
			n.out = append(n.out, c)
		}
		n.open = -1
	default:
		n.other(string(c))
	}
	return i + 1
}

// isSign reports whether a + or - before rest is the sign of a number rather than an
// operator. Signs are dropped because DIGEST_TEXT contains only some of them.
func (n *normaliser) isSign(rest string) bool {
	rest = strings.TrimLeft(rest, " \t\r\n")
	if rest == "" || !isDigit(rest[0]) && rest[0] != '.' && rest[0] != '?' {
		return false
	}
	return len(n.out) > 0 && strings.IndexByte("(,=<>+-*/%", n.out[len(n.out)-1]) >= 0
}

func (n *normaliser) value() {
	n.out = append(n.out, '?')
	n.any = true
}

// other appends a token that is not a value, in lower case.
func (n *normaliser) other(word string) {
	for i := range len(word) {
		c := word[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		n.out = append(n.out, c)
	}
	n.open = -1
}

// closeList replaces the list since open by (?), or removes it if it follows another
// list.
func (n *normaliser) closeList() {
	n.out = n.out[:n.open]
	if bytes.HasSuffix(n.out, []byte("(?),")) {
		n.out = n.out[:len(n.out)-1]
		return
	}
	n.out = append(n.out, "(?)"...)
}

// end completes a truncated list.
func (n *normaliser) end() {
	if n.open >= 0 && (n.any || bytes.HasSuffix(n.out, []byte("(?),("))) {
		n.closeList()
	}
	n.out = bytes.TrimSuffix(n.out, []byte(","))
}

// lengthThrough returns the length of text up to and including the first mark at or after
// from; the whole length if there is none.
func lengthThrough(text string, from int, mark string) int {
	if i := strings.Index(text[from:], mark); i >= 0 {
		return from + i + len(mark)
	}
	return len(text)
}

// quotedLength returns the length of the quoted text at the start of text, including the
// quotes. Doubled and escaped quotes are part of it.
func quotedLength(text string) int {
	mark := text[0]
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && mark != '`':
			i++
		case text[i] == mark && i+1 < len(text) && text[i+1] == mark:
			i++
		case text[i] == mark:
			return i + 1
		}
	}
	return len(text)
}

func wordLength(text string) int {
	length := 0
	for length < len(text) && isWord(text[length]) {
		length++
	}
	return length
}

// numberLength returns the length of the decimal or hexadecimal number at the start of
// text.
func numberLength(text string) int {
	i := 0
	for i < len(text) && (isWord(text[i]) || text[i] == '.' ||
		(text[i] == '-' || text[i] == '+') && i > 0 && (text[i-1] == 'e' || text[i-1] == 'E') && !strings.HasPrefix(text, "0x")) {
		i++
	}
	return i
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// isWord reports whether c may be part of a name, as all bytes above ASCII may.
func isWord(c byte) bool {
	return isDigit(c) || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '$' || c >= 0x80
}

// textDigest replaces the server's digest on MariaDB. It is the same for the text of a
// running statement and the DIGEST_TEXT of finished ones, so that samples and
// statement times can be joined.
func textDigest(text string) string {
	if text == "" {
		return ""
	}
	sum := sha256.Sum256(normalise(text))
	return hex.EncodeToString(sum[:])[:sampling.DigestDigits]
}
