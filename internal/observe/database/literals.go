// SPDX-License-Identifier: Apache-2.0

package database

import (
	"regexp"
	"strings"

	"assay.dev/assay/internal/mask"
)

var (
	// token matches what ends a literal or is none: a comment or its beginning, a name, a word, a
	// parameter; and then literals: with backslashes, other strings, the beginning of $tag$ ...
	// $tag$, and numbers. A text may end within each.
	token = regexp.MustCompile(`(?is)--[^\n]*|/\*|"[^"]*"?|\$\d+|` +
		`e'(?:[^'\\]|\\.|'')*(?:'|\\?$)|(?:[bnx]|u&)?'(?:[^']|'')*'?|` +
		`\$(?:(?:[a-z_]|[^\x00-\x7f])(?:\w|[^\x00-\x7f])*)?\$|` +
		`(?:[a-z_]|[^\x00-\x7f])(?:[\w$]|[^\x00-\x7f])*|\d[\w.]*`)
	commentMark = regexp.MustCompile(`/\*|\*/`)
	// setting matches a statement that sets a variable: its value may be a word.
	setting = regexp.MustCompile(`(?is)^(\s*(?:alter\s.*?\s)?set\s+(?:(?:session|local)\s+)?[^\s=(]+(?:\s*=|\s+to\s)).*`)
)

// WithoutLiterals is the text of a statement with ? for each literal, and without comments: in
// both may be passwords of others. PostgreSQL does so itself only for some statements.
func WithoutLiterals(statement string) string {
	var out strings.Builder
	rest := mask.Text(statement)
	for at := token.FindStringIndex(rest); at != nil; at = token.FindStringIndex(rest) {
		out.WriteString(rest[:at[0]])
		found := rest[at[0]:at[1]]
		rest = rest[at[1]:]
		dollar := found[0] == '$' && found[len(found)-1] == '$'
		switch {
		case found == "/*":
			rest = afterComment(rest)
			fallthrough
		case strings.HasPrefix(found, "--"):
			out.WriteByte(' ')
			continue
		case dollar:
			_, rest, _ = strings.Cut(rest, found)
		case found[0] != '"' && strings.Contains(found, "'"):
			// Without standard_conforming_strings this may not be its end.
			if found[0] != 'e' && found[0] != 'E' && strings.Contains(found, `\'`) {
				rest = ""
			}
		case found[0] < '0' || found[0] > '9':
			out.WriteString(found)
			continue
		}
		out.WriteByte('?')
	}
	out.WriteString(rest)
	return setting.ReplaceAllString(out.String(), "$1 ?")
}

// afterComment is what follows a comment, which may have others in it.
func afterComment(text string) string {
	for depth := 1; depth > 0; {
		at := commentMark.FindStringIndex(text)
		switch {
		case at == nil:
			return ""
		case text[at[0]] == '/':
			depth++
		default:
			depth--
		}
		text = text[at[1]:]
	}
	return text
}
