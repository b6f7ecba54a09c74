package identity_test

import (
	"regexp"
	"strings"
	"testing"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/wire/identity"
)

var digits = strings.Repeat("0123456789abcdef", 4)

func TestParseAddress(t *testing.T) {
	pin := "sha256:" + digits
	for text, want := range map[string]identity.Address{
		"https://a.example:7443#" + pin:        {URL: "https://a.example:7443", Host: "a.example", Fingerprint: pin},
		"https://a.example:7443/#" + pin:       {URL: "https://a.example:7443", Host: "a.example", Fingerprint: pin},
		"https://192.0.2.7:7443":               {URL: "https://192.0.2.7:7443", Host: "192.0.2.7"},
		"https://[2001:db8::1]:7443#" + pin:    {URL: "https://[2001:db8::1]:7443", Host: "2001:db8::1", Fingerprint: pin},
		"https://[fe80::1%25eth0]:7443#" + pin: {URL: "https://[fe80::1%25eth0]:7443", Host: "fe80::1%eth0", Fingerprint: pin},
		"https://a":                            {URL: "https://a", Host: "a"},
		"HTTPS://a:1":                          {URL: "https://a:1", Host: "a"},
		"http://127.0.0.1:7443":                {URL: "http://127.0.0.1:7443", Host: "127.0.0.1"},
		"http://[::1]:7443":                    {URL: "http://[::1]:7443", Host: "::1"},
		"http://localhost:7443":                {URL: "http://localhost:7443", Host: "localhost"},
	} {
		got, err := identity.ParseAddress(text)
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for text, says := range map[string]string{
		"https://a:1#":                           "64 digits", // a variable that was not set
		"https://a:1#sha256:":                    "64 digits",
		"https://a:1#" + digits:                  "64 digits",
		"https://a:1#sha256=" + digits:           "64 digits",
		"https://a:1#sha256:" + digits + "0":     "64 digits",
		"https://a:1#sha256:" + digits[1:]:       "64 digits",
		"https://a:1#sha256:" + digits[1:] + "g": "64 digits",
		"https://a:1#sha256%3A" + digits:         "64 digits",
		"https://a:1#SHA256:" + digits:           "64 digits",
		"https://a:1#" + strings.ToUpper(pin):    "64 digits",
		"https://a:1#sha1:" + digits[:40]:        "64 digits",
		"https://a:1#" + pin + "#" + pin:         "64 digits",
		"https://a:1# " + pin:                    "64 digits",
		"https://a:1#" + pin + "\n":              "64 digits",
		"":                                       "https://",
		"a:1":                                    "https://",
		"a.example:7443":                         "https://",
		"//a:1":                                  "https://",
		"https://":                               "host",
		"https://:7443":                          "host",
		"https://a b:1":                          "malformed",
		"https://a\"b:1":                         "host",
		"https://a:0":                            "port",
		"https://a:65536":                        "port",
		"https://a:":                             "port",
		"https://a:x":                            "malformed",
		"https://token@a:1":                      "only",
		"https://a:1/join":                       "only",
		"https://a:1?token=x":                    "only",
		"https://a:1?":                           "only",
		"http://a.example:7443":                  "must be https",
		"http://127.0.0.1:7443#" + pin:           "must be https",
		"ftp://a:1":                              "https://",
	} {
		got, err := identity.ParseAddress(text)
		if err == nil || !strings.Contains(err.Error(), says) || hint.Of(err) == "" {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

func FuzzParseAddress(f *testing.F) {
	f.Add("https://a.example:7443#sha256:" + digits)
	f.Add("http://[::1]:1/")
	f.Add("https://secret@[fe80::1%25eth0]:7443?#")
	shape := regexp.MustCompile(`^https?://[A-Za-z0-9._:%\[\]-]+(#sha256:[0-9a-f]{64})?$`)
	f.Fuzz(func(t *testing.T, text string) {
		a, err := identity.ParseAddress(text)
		if err != nil {
			if a != (identity.Address{}) || strings.Contains(err.Error(), "\n") || len(err.Error()) > 200 {
				t.Errorf("%q: %+v, %v", text, a, err)
			}
			return
		}
		if !shape.MatchString(a.String()) || a.Host == "" || strings.Contains(text, "#") != (a.Fingerprint != "") {
			t.Errorf("%q was read as %+v", text, a)
		}
		if again, err := identity.ParseAddress(a.String()); err != nil || again != a {
			t.Errorf("%q is %+v, and %q is %+v, %v", text, a, a.String(), again, err)
		}
	})
}
