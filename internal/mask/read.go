// SPDX-License-Identifier: Apache-2.0

package mask

import (
	"encoding/base64"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
)

// tokens are the variables whose whole value is a secret. One with a colon is
// user:password.
var tokens = map[string]bool{
	"ASSAY_INFLUX_TOKEN": true, "ASSAY_JOIN_TOKEN": true, "ASSAY_STUB_TOKEN": true,
	"AWS_SECRET_ACCESS_KEY": true, "AWS_SESSION_TOKEN": true, "AWS_CONTAINER_AUTHORIZATION_TOKEN": true,
	"PGPASSWORD": true, "MYSQL_PWD": true,
}

// Environment registers the secrets of the variables that Assay, its drivers and its
// clients read.
func Environment() {
	for _, pair := range os.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		switch {
		case tokens[name]:
			_, password, _ := strings.Cut(value, ":")
			Add(password)
			addHeader(value)
		case name == "ASSAY_SIGNING_KEY":
			if strings.Contains(value, "\n") { // the key itself, not its file
				Add(value)
			}
		case strings.HasPrefix(name, "OTEL_EXPORTER_OTLP_") && strings.HasSuffix(name, "HEADERS"):
			for header := range strings.SplitSeq(value, ",") {
				_, secret, _ := strings.Cut(header, "=")
				addHeader(secret)
				if plain, err := url.PathUnescape(secret); err == nil {
					addHeader(plain)
				}
			}
		case strings.HasPrefix(name, "ASSAY_"), strings.HasSuffix(strings.ToUpper(name), "_PROXY"):
			AddDSN(value)
		}
	}
}

// addHeader registers what a header logs in with: all of it, what is behind its scheme, such
// as Bearer, and what the scheme Basic encodes, user:password.
func addHeader(value string) {
	value = strings.TrimSpace(value)
	scheme, credentials, _ := strings.Cut(value, " ")
	Add(value, credentials)
	if plain, err := base64.StdEncoding.DecodeString(strings.TrimSpace(credentials)); err == nil && strings.EqualFold(scheme, "Basic") {
		_, password, _ := strings.Cut(string(plain), ":")
		Add(string(plain), password)
	}
}

// AddDSN registers a DSN or URL that has a password or another secret, and each of these
// secrets by itself. The text may have several DSNs, separated by space, and a name before
// each, NAME=DSN, as in ASSAY_DB_NODES: each is registered.
func AddDSN(text string) {
	for _, dsn := range append(strings.Fields(text), text) {
		if name, of, named := strings.Cut(dsn, "="); named && !strings.ContainsAny(name, ":/@?") {
			dsn = of
		}
		if found := secretsOf(dsn); len(found) > 0 {
			Add(append(found, dsn, text)...)
		}
	}
}

// named matches what names the value behind it on a command line: a flag, or a variable, also
// of a variant. ordinary matches the values that only look like user:password@host: users of a
// cluster, and images.
var (
	named    = regexp.MustCompile(`^(-+[a-z0-9-]+|([^:=/@]*:)?[A-Z][A-Z0-9_]+)=`)
	ordinary = regexp.MustCompile(`^(user|group):[^(/:]*$|@sha256:[0-9a-f]{64}$`)
)

// Arguments registers the secrets of the DSNs and URLs on a command line, as AddDSN does:
// refusals quote what they refuse.
func Arguments(all []string) {
	for _, text := range all {
		if text = text[len(named.FindString(text)):]; !ordinary.MatchString(text) {
			AddDSN(text)
		}
	}
}

// secretParameter matches the names of the parameters that are secrets, and not those of the
// files that hold one, such as sslkey and passfile.
var secretParameter = regexp.MustCompile(`(?i)(pass(word|wd|phrase)?|pwd|secret|token|api[-_]?key|access[-_]?key|signature|credentials?|auth(orization)?)$|^(p|key|sig)$`)

// Holds reports whether a DSN or URL has a password or another secret, or contains a secret
// of this process.
func Holds(text string) bool { return len(secretsOf(text)) > 0 || Found(text) }

// secretsOf are the secrets in a URL, or in a DSN of MySQL's form, whether it is valid or
// not, and however often it is escaped.
func secretsOf(text string) []string {
	found := secretsIn(text)
	text, _, _ = strings.Cut(text, "?")
	for range depth {
		plain, err := url.PathUnescape(text)
		if err != nil || plain == text {
			break
		}
		found, text = append(found, secretsIn(plain)...), plain
	}
	return found
}

func secretsIn(text string) (found []string) {
	_, rest, isURL := strings.Cut(text, "://")
	if isURL { // whose path or fragment may have parameters too
		path, _, _ := strings.Cut(rest, "?")
		_, fragment, _ := strings.Cut(rest, "#")
		found = secretParameters(strings.FieldsFunc(path+"#"+fragment, func(r rune) bool { return strings.ContainsRune("/;&#", r) }))
	}
	if u, err := url.Parse(text); isURL && err == nil {
		if password, _ := u.User.Password(); password != "" {
			raw, _, _ := cutLast(rest[:strings.IndexByte(rest+"/", '/')], "@")
			found = append(withPieces(password), u.User.Username()+":"+password+"@", raw+"@")
		}
		return append(found, secretParameters(strings.Split(u.RawQuery, "&"))...)
	}
	if !isURL {
		rest = text
	}
	// The name of the database is behind the last slash, and the password may have any
	// character.
	slash := strings.LastIndexByte(rest, '/')
	if slash < 0 {
		slash = len(rest)
	}
	info, _, has := cutLast(rest[:slash], "@")
	_, password, _ := strings.Cut(info, ":")
	if has && password != "" {
		found = append(withPieces(password), info+"@")
		if plain, err := url.PathUnescape(password); err == nil {
			found = append(found, withPieces(plain)...)
		}
		rest = rest[len(info):]
	}
	_, query, _ := strings.Cut(rest, "?")
	return append(found, secretParameters(strings.Split(query, "&"))...)
}

// secretParameters are the values of the parameters that are secrets.
func secretParameters(pairs []string) (found []string) {
	for _, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		if plain, err := url.QueryUnescape(name); err == nil {
			name = plain
		}
		if value == "" || !secretParameter.MatchString(name) {
			continue
		}
		if plain, err := url.QueryUnescape(value); err == nil {
			value = plain
		}
		found = append(found, withPieces(value)...)
	}
	return found
}

const (
	separators = "@/?#:" // at which clients take a URL apart
	minPiece   = 8       // bytes
	maxDivided = 256     // bytes of a password that has pieces
)

// withPieces is a password with its pieces, which are left if a client has read it as a part of
// a URL: from a separator on, and between two. Pieces that may be words are none, nor are those
// of several DSNs or of a key.
func withPieces(password string) []string {
	if len(password) > maxDivided || len(strings.Fields(password)) > 1 {
		return []string{password}
	}
	pieces := strings.FieldsFunc(password, func(c rune) bool { return strings.ContainsRune(separators, c) })
	for i := range len(password) {
		if strings.IndexByte(separators, password[i]) >= 0 {
			pieces = append(pieces, password[i:])
		}
	}
	pieces = slices.DeleteFunc(pieces, func(p string) bool { return len(p) < minPiece || word.MatchString(strings.Trim(p, separators)) })
	return append(pieces, password)
}

func cutLast(text, separator string) (before, after string, found bool) {
	if i := strings.LastIndex(text, separator); i >= 0 {
		return text[:i], text[i+len(separator):], true
	}
	return text, "", false
}

// lines are a secret, also without the space around it, and each line of a secret of
// several: a log is masked line by line. The first and the last line of a key are known to
// everyone.
func lines(secret string) []string {
	all := []string{secret, strings.TrimSpace(secret)}
	if strings.Contains(secret, "\n") {
		for line := range strings.Lines(secret) {
			if line = strings.TrimSpace(line); !strings.HasPrefix(line, "-----") {
				all = append(all, line)
			}
		}
	}
	return all
}
