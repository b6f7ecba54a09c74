package route

import (
	"bytes"
	"strings"
	"testing"
)

func TestKindOf(t *testing.T) {
	for kind, segments := range map[Kind][]string{
		Literal: {
			"", "products", "v1", "v2.10", "oauth2", "mp3", "index.html", "app.min.js", "favicon.ico", ".well-known", ".env", "wp-login.php",
			"GetCustomerOrderHistory", "getById", "terms-and-conditions-of-use", "facade", "deadbeef", "shipment_tracking", "items:batchGet", "apple-touch-icon",
		},
		Number: {"0", "42", "12345678901234567890", "404.html"},
		UUID:   {"6f1b1f3e-93d2-4b44-9a5c-0d5a3b1e7f10", "6F1B1F3E-93D2-4B44-9A5C-0D5A3B1E7F10.json"},
		Hex:    {"5f4dcc3b5aa765d61d8327deb882cf99", "abcdefabcdefabcdef", "facade00", "3f2a9c1b.js"},
		Text: {
			"alice@example.com", "alice%40example.com", "@alice", "user42", "order-1029", "2024-05-18", "12.5", "INV2024001", "eyJhbGciOiJIUzI1NiJ9.e30.abc",
			"dQw4w9WgXcQ", "aGVsbG8gd29ybGQK", "QmFzZVNpeHRHUfOurX", "zxkqjhwvbnmpljdf", "J%C3%BCrgen", "J\xc3\xbcrgen", "a b", "a+b", "..", ".", "\x01", "\x00",
			"x=y", `a\x22`, "v1x2", "app.3f2a9c1b.js", strings.Repeat("lo", 30), "{id}", "$count",
		},
	} {
		for _, segment := range segments {
			if got := KindOf([]byte(segment)); got != kind {
				t.Errorf("%q is %d, want %d", segment, got, kind)
			}
		}
	}
}

func TestAppendShape(t *testing.T) {
	readable := strings.NewReplacer("\x01\x01", "{number}", "\x01\x02", "{uuid}", "\x01\x03", "{hex}", "\x01\x04", "{text}", "\x01", "{name}")
	for target, want := range map[string]string{
		"/":                             "G/",
		"/a":                            "G/a",
		"/a/":                           "G/a/",
		"//a":                           "G//a",
		"/a/7/b?x=1&y[]=2&z":            "G/a/{number}/b?x&y[]&z",
		"/a/7.json?":                    "G/a/{number}.json",
		"/a;jsessionid=8F2C/b;c":        "G/a/b",
		"/?alice@example.com=1&=":       "G/?{name}&{name}",
		"/?user42=1&a=b=c?d&a":          "G/?{name}&a&a",
		"/?" + strings.Repeat("a&", 20): "G/?a&a&a&a&a&a&a&a",
		"/1/2/3/4/5/6/7/8/9/10/11/12":   "G" + strings.Repeat("/{number}", 12),
		"/1/2/3/4/5/6/7/8/9/10/11/12/13/joe/doe?token":            "G" + strings.Repeat("/{number}", 11) + "/{text}?token",
		"/6f1b1f3e-93d2-4b44-9a5c-0d5a3b1e7f10/3f2a9c1b.js/j%20d": "G/{uuid}/{hex}.js/{text}",
	} {
		if got := readable.Replace(string(AppendShape(nil, 'G', []byte(target)))); got != want {
			t.Errorf("%s has the shape %s, want %s", target, got, want)
		}
	}
}

// A shape has a bounded length, no bytes but those of literals and its own, and a literal
// only if it is a segment of the target. Its parts are what it was made of.
func FuzzAppendShape(f *testing.F) {
	for _, target := range []string{"/", "/a/7/b?x=1&y[]=2", "//;/\x01\x02?&&=\x01", "/a.js/\xff?\x00", strings.Repeat("/a", 50)} {
		f.Add([]byte(target))
	}
	f.Fuzz(func(t *testing.T, target []byte) {
		target = append([]byte("/"), target...)
		shape := AppendShape(nil, 7, target)
		if len(shape) > 1+maxSegments*(longestLiteral+10)+maxNames*(maxName+1) {
			t.Fatalf("%d bytes", len(shape))
		}
		path, _, _ := bytes.Cut(target, []byte("?"))
		method, segments, names := Split(shape)
		if method != 7 || len(segments) > maxSegments || len(names) > maxNames {
			t.Fatalf("%d, %q, %q", method, segments, names)
		}
		again := []byte{method}
		for _, s := range segments {
			again = append(append(again, '/'), s...)
			if len(s) > 0 && s[0] == Placeholder {
				if len(s) < 2 || Kind(s[1]) <= Literal || Kind(s[1]) > Text {
					t.Fatalf("%q", s)
				}
				s = s[2:]
			}
			if count(s).other || !bytes.Contains(path, s) {
				t.Fatalf("%q of %q", s, target)
			}
		}
		for i, n := range names {
			again = append(append(again, "?&"[min(i, 1)]), n...)
			if !bytes.Equal(n, []byte{Placeholder}) && !nameKnown(n) {
				t.Fatalf("%q of %q", n, target)
			}
		}
		if !bytes.Equal(again, shape) {
			t.Fatalf("%q, again %q", shape, again)
		}
	})
}
