package mysql

import (
	"bytes"
	"strings"
)

// normalise replaces the literals of a statement by ? and drops what MariaDB's
// DIGEST_TEXT writes differently: case, spaces, back quotes, comments, and the
// length of lists of values, (?,?),(?,?) being (?). A text that the server cut
// off within such a list ends as the whole one does.
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
	open int  // where the innermost parenthesis opened, while it holds only values; else -1
	any  bool // it holds a value
}

// token handles one token at text[i:] and returns where the next one begins.
func (n *normaliser) token(text string, i int) int {
	c, rest := text[i], text[i:]
	switch {
	case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == ';':
		return i + 1
	case strings.HasPrefix(rest, "/*"):
		return i + until(rest, 2, "*/")
	case c == '#' || strings.HasPrefix(rest, "-- "):
		return i + until(rest, 1, "\n")
	case c == '\'' || c == '"':
		n.value()
		return i + quoted(rest)
	case c == '`':
		length := quoted(rest)
		n.other(strings.Trim(rest[:length], "`"))
		return i + length
	case strings.HasPrefix(rest, "..."):
		n.value() // of DIGEST_TEXT: a list of values
		return i + 3
	case c == '?':
		n.value()
		return i + 1
	case (c == '-' || c == '+') && n.sign(rest[1:]):
		return i + 1
	case isDigit(c) || c == '.' && len(rest) > 1 && isDigit(rest[1]):
		n.value()
		return i + number(rest)
	case isWord(c):
		length := 1
		for length < len(rest) && isWord(rest[length]) {
			length++
		}
		if strings.EqualFold(rest[:length], "null") {
			n.value()
		} else {
			n.other(rest[:length])
		}
		return i + length
	case c == '@' && len(rest) > 1 && isWord(rest[1]): // DIGEST_TEXT hides the names of user variables
		length := 2
		for length < len(rest) && isWord(rest[length]) {
			length++
		}
		n.other("@?")
		return i + length
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

// sign tells whether a + or - before rest is the sign of a number, rather than
// an operator: DIGEST_TEXT has some signs and some not.
func (n *normaliser) sign(rest string) bool {
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

// closeList writes the list that opened as (?), or nothing where it follows
// another one.
func (n *normaliser) closeList() {
	n.out = n.out[:n.open]
	if bytes.HasSuffix(n.out, []byte("(?),")) {
		n.out = n.out[:len(n.out)-1]
		return
	}
	n.out = append(n.out, "(?)"...)
}

// end repairs a list that was cut off.
func (n *normaliser) end() {
	if n.open >= 0 && (n.any || bytes.HasSuffix(n.out, []byte("(?),("))) {
		n.closeList()
	}
	n.out = bytes.TrimSuffix(n.out, []byte(","))
}

// until is the length of the text up to and with the end mark, which is looked
// for from the given position.
func until(text string, from int, mark string) int {
	if at := strings.Index(text[from:], mark); at >= 0 {
		return from + at + len(mark)
	}
	return len(text)
}

// quoted is the length of what stands in the quotes that text begins with, a
// doubled or escaped quote being part of it.
func quoted(text string) int {
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

// number is the length of the number, or of 0x and its digits, at the start of
// text.
func number(text string) int {
	i := 0
	for i < len(text) && (isWord(text[i]) || text[i] == '.' ||
		(text[i] == '-' || text[i] == '+') && i > 0 && (text[i-1] == 'e' || text[i-1] == 'E') && !strings.HasPrefix(text, "0x")) {
		i++
	}
	return i
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// isWord tells whether c may stand in a name; bytes above ASCII may.
func isWord(c byte) bool {
	return isDigit(c) || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '$' || c >= 0x80
}
