package mask

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// register makes these the only secrets, for one test.
func register(t testing.TB, add func()) {
	reset := func() {
		mu.Lock()
		defer mu.Unlock()
		clear(all)
		known.Store(nil)
	}
	reset()
	t.Cleanup(reset)
	add()
}

func jsonOf(t *rapid.T, text string, escapeHTML bool) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(escapeHTML)
	if err := e.Encode(text); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// percent escapes each byte in percent encoding.
func percent(text, format string) string {
	var b strings.Builder
	for i := range len(text) {
		fmt.Fprintf(&b, format, text[i])
	}
	return b.String()
}

// encodings are the ways in which programs print a value. Each is used up to twice.
func encodings(t *rapid.T) map[string]func(string) string {
	return map[string]func(string) string{
		"as it is":    func(s string) string { return s },
		"JSON":        func(s string) string { return jsonOf(t, s, true) },
		"JavaScript":  func(s string) string { return jsonOf(t, s, false) },
		"Go":          strconv.Quote,
		"Go, ASCII":   strconv.QuoteToASCII,
		"query":       url.QueryEscape,
		"path":        url.PathEscape,
		"percent":     func(s string) string { return percent(s, "%%%02X") },
		"percent low": func(s string) string { return percent(s, "%%%02x") },
		"HTML":        html.EscapeString,
	}
}

// secret draws a value with all that is escaped anywhere.
func secret(t *rapid.T, name string) string {
	return rapid.StringOfN(rapid.OneOf(
		rapid.RuneFrom([]rune("\"\\'/<>&%+ ?#=@:;\n\t\x00\x7f$`{}")),
		rapid.RuneFrom([]rune("aZ09é😀\u2028")),
	), MinLength, 20, -1).Filter(func(s string) bool { return len(s) >= MinLength && !strings.Contains(s, "*") }).Draw(t, name)
}

func TestSecretsAreMaskedInEachEncoding(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := secret(r, "secret")
		register(t, func() { Add(s) })
		encode := encodings(r)
		names := rapid.SliceOfN(rapid.SampledFrom([]string{
			"as it is", "JSON", "JavaScript", "Go", "Go, ASCII", "query", "path", "percent", "percent low", "HTML",
		}), 1, 2).Draw(r, "encodings")
		before, after := rapid.StringMatching(`[a-y ]{0,8}`).Draw(r, "before"), rapid.StringMatching(`[a-y ]{0,8}`).Draw(r, "after")
		text := "zz" + before + s + after + "zz"
		for _, name := range names {
			text = encode[name](text)
		}
		encoded := func(part string) string {
			for _, name := range names {
				part = encode[name](part)
			}
			return part
		}
		masked := Text(text)
		if !strings.Contains(masked, replacement) {
			r.Fatalf("%q is not masked in %q: %v", s, text, names)
		}
		if core := strings.Trim(encoded(s), `"\`); core != "" && len(core) >= len(s) && strings.Contains(masked, core) {
			r.Fatalf("%q is left in %q", core, masked)
		}
	})
}

func TestSecretsAreMaskedInBase64AndHexadecimal(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := rapid.StringOfN(rapid.RuneFrom([]rune("abcXYZ019/?é\"&")), 8, 30, -1).Draw(r, "secret")
		register(t, func() { Add(s) })
		text := rapid.StringMatching(`[0-9]{0,5}`).Draw(r, "before") + s + rapid.StringMatching(`[0-9]{0,5}`).Draw(r, "after")
		for name, encoded := range map[string]string{
			"standard": base64.StdEncoding.EncodeToString([]byte(text)), "URL": base64.URLEncoding.EncodeToString([]byte(text)),
			"hexadecimal": hex.EncodeToString([]byte(text)), "upper": strings.ToUpper(hex.EncodeToString([]byte(text))),
			"in a query": url.QueryEscape(base64.StdEncoding.EncodeToString([]byte(text))),
			"in JSON":    strings.ReplaceAll(base64.StdEncoding.EncodeToString([]byte(text)), "/", `\/`),
		} {
			if masked := Text(encoded); !strings.Contains(masked, replacement) {
				r.Fatalf("%s: %q is not masked in %q", name, s, encoded)
			}
		}
	})
}

// TestTextWithoutASecretIsLeft would fail if escapes were changed on the way.
func TestTextWithoutASecretIsLeft(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := secret(r, "secret")
		register(t, func() { Add(s + "zzzz") })
		text := rapid.StringOf(rapid.RuneFrom([]rune("\"\\/<&%+ ?2250amp;#x34uq\n*é"))).Draw(r, "text")
		if masked := Text(text); masked != text {
			r.Fatalf("%q became %q", text, masked)
		}
	})
}

func TestWhatIsMaskedHasNoSecretLeft(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		letters := rapid.RuneFrom([]rune("ab\\%&"))
		secrets := rapid.SliceOfN(rapid.StringOfN(letters, 4, 6, -1), 1, 4).Draw(r, "secrets") // they overlap
		register(t, func() { Add(secrets...) })
		masked := Text(rapid.StringOfN(letters, 0, 60, -1).Draw(r, "text"))
		for _, s := range secrets {
			if strings.Contains(masked, s) {
				r.Fatalf("%q is left in %q", s, masked)
			}
		}
		if again := Text(masked); again != masked {
			r.Fatalf("%q became %q", masked, again)
		}
	})
}

// TestStreamsAreMaskedLikeText: however a stream is cut, the same is written.
func TestStreamsAreMaskedLikeText(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		secrets := []string{`pass"word`, "word+more", "ssssecret"}
		register(t, func() { Add(secrets...) })
		parts := rapid.SliceOf(rapid.OneOf(
			rapid.SampledFrom([]string{`pass"word`, `pass\"word`, "word+more", "word%2Bmore", "\n", "ssssecret", strings.Repeat("x", maxLine)}),
			rapid.StringMatching(`[a-z\n]{0,5}`),
		)).Draw(r, "parts")
		stream := strings.Join(parts, "")
		var out bytes.Buffer
		l := NewLines(&out)
		for rest := stream; rest != ""; {
			n := rapid.IntRange(1, min(len(rest), 9)).Draw(r, "size")
			if len(rest) > 1000 && rest[0] == 'x' {
				n = len(rest) - 20
			}
			if _, err := l.Write([]byte(rest[:n])); err != nil {
				r.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := l.Flush(); err != nil {
			r.Fatal(err)
		}
		want := ""
		for line := range strings.Lines(stream) {
			want += Text(line)
		}
		if out.String() != want {
			r.Fatalf("%d bytes were written, not the %d of the masked text", out.Len(), len(want))
		}
	})
}

func TestSecretsOfDSNs(t *testing.T) {
	for _, c := range []struct {
		dsn    string
		secret []string // that are masked alone
		public []string // that are not
	}{
		{"assay:s3cret@tcp(db.test:3306)/shop", []string{"s3cret"}, []string{"assay", "db.test", "shop", "assay@tcp(db.test:3306)/shop"}},
		{"assay:p@ss/w:rd@tcp(db.test:3306)/shop?tls=true", []string{"p@ss/w:rd"}, []string{"tls=true", "assay"}},
		{"postgres://assay:p%40ss%2Fword@db.test/shop?sslmode=disable", []string{"p@ss/word", "p%40ss%2Fword", "p%40ss%2fword"}, []string{"sslmode=disable"}},
		{"postgres://db.test/shop?user=assay&password=p%26ss+word", []string{"p&ss word", "p%26ss+word", "p%26ss%20word"}, []string{"user=assay"}},
		{"postgres://assay:100%@db.test/shop", []string{"100%"}, []string{"db.test"}},
		{"kafka://assay:kpass@broker:9093?tls=true&sasl=plain", []string{"kpass"}, []string{"sasl=plain"}},
		{"http://influx.test:8086?db=assay&p=x&token=t0ken", []string{"t0ken"}, []string{"db=assay"}},
		{"a=u:first@tcp(a:3306)/shop b=u:second@tcp(b:3306)/shop", []string{"first", "second", "u:first@tcp(a:3306)/shop"}, []string{"shop", "a:3306"}},
		{"root:a@tcp(db.test:3306)/shop", []string{"root:a@"}, []string{"a", "root", "alpha", "root:abc"}},
		{"u:p?w/x@yz@unix(/run/db.sock)/shop?tlsCA=/srv/ca.pem&tls=true", []string{"p?w/x@yz"}, []string{"tlsCA=/srv/ca.pem", "/run/db.sock"}},
		{"postgres://assay:raw?pass@db.test/shop", []string{"raw?pass"}, []string{"db.test"}},
		{"postgres://db.test:5432/shop?user=a@b", nil, []string{"postgres://db.test:5432/shop?user=a@b", "5432/shop"}},
		{"postgres://assay@db.test/shop?sslkey=/srv/key.pem&passfile=/srv/pgpass", nil, []string{"/srv/key.pem", "/srv/pgpass"}},
		{"s3://b/k?X-Amz-Credential=AKIA&X-Amz-Signature=51gn", []string{"AKIA", "51gn"}, []string{"X-Amz"}},
		{"assay@tcp(127.0.0.1:3306)/shop", nil, []string{"assay@tcp(127.0.0.1:3306)/shop"}},
		{"http://127.0.0.1:8080", nil, []string{"http://127.0.0.1:8080"}},
	} {
		register(t, func() { AddDSN(c.dsn) })
		for _, s := range c.secret {
			if got := Text("x " + s + " y"); strings.Contains(got, s) {
				t.Errorf("%s: %q", c.dsn, got)
			}
			if got := Text(c.dsn); got != replacement {
				t.Errorf("%s is shown as %q", c.dsn, got)
			}
		}
		for _, p := range c.public {
			if got := Text(p); got != p {
				t.Errorf("%s: %q became %q", c.dsn, p, got)
			}
		}
	}
}

func TestSecretsOfTheEnvironment(t *testing.T) {
	key := "-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49AgEG\n-----END PRIVATE KEY-----\n"
	for name, value := range map[string]string{
		"ASSAY_DB": "assay:dbpass@tcp(db:3306)/shop", "ASSAY_DB_NODES": "a=assay:nodepass@tcp(a:3306)/shop", "ASSAY_KAFKA": "kafka://u:kafkapass@k:9092",
		"ASSAY_INFLUX_TOKEN": "admin:influxpass", "ASSAY_JOIN_TOKEN": "jointoken", "ASSAY_STUB_TOKEN": "stubtoken", "ASSAY_SIGNING_KEY": key,
		"ASSAY_TARGET": "http://u:targetpass@shop.test/?token=querytoken", "AWS_SECRET_ACCESS_KEY": "awskey", "AWS_SESSION_TOKEN": "awssession",
		"OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20pushtoken,x-key=second", "HTTPS_PROXY": "http://u:proxypass@proxy:3128",
	} {
		t.Setenv(name, value)
	}
	register(t, Environment)
	for _, s := range []string{
		"dbpass", "nodepass", "kafkapass", "influxpass", "jointoken", "stubtoken", "MIGHAgEAMBMGByqGSM49AgEG", "targetpass", "querytoken",
		"awskey", "awssession", "pushtoken", "second", "proxypass",
	} {
		if got := Text("<" + s + ">"); got != "<"+replacement+">" {
			t.Errorf("%s is shown as %q", s, got)
		}
	}
	if text := "-----BEGIN PRIVATE KEY----- shop.test Bearer admin"; Text(text) != text {
		t.Errorf("%q became %q", text, Text(text))
	}
}

func FuzzText(f *testing.F) {
	f.Add("p&ss\"w\\rd", `{"dsn": "p\u0026ss\"w\\rd"}`)
	f.Add("aaaa", `\\\\\\\\\u0061%2525%61&amp;amp;#97;aa`)
	f.Fuzz(func(t *testing.T, secret, text string) {
		if len(secret) < MinLength || strings.Contains(secret, "*") || len(secret) > 100 || len(text) > 10_000 {
			return
		}
		m := newMatcher([]string{secret})
		masked := m.mask(text + secret + text)
		if strings.Contains(masked, secret) {
			t.Fatalf("%q is left in %q", secret, masked)
		}
	})
}

func BenchmarkLogLine(b *testing.B) {
	register(b, func() { AddDSN(`assay:p&ss"w\rd-0123456789@tcp(db.test:3306)/shop`) })
	line := `time="2026-11-28T13:00:00Z" level=warning msg="Request Failed" error="Get \"http://127.0.0.1:8080/pay?id=7%20a\": dial tcp 127.0.0.1:8080: connect: connection refused"`
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		Text(line)
	}
}

// Texts of escapes take time in proportion to their length: scripts and servers choose them.
func BenchmarkEscapes(b *testing.B) {
	register(b, func() {
		AddDSN(`assay:p&ss"w\rd-0123456789@tcp(db.test:3306)/shop`)
		AddDSN(`assay:\\%&+<"%%25\u0026@tcp(db.test:3306)/shop`)
	})
	for name, part := range map[string]string{
		"backslash": `\`, "percent": "%", "ampersand": "&", "plus": "+", "nested percent": "%25", "nested entity": "&amp;", "numbered": "&#38;", "u": `\u005c`, "mixed": `\u0025%5c&#92;`, "start": `assay:\\%&+<"%%25\u0026@tcp(db`, "plain": "plain text ",
	} {
		text := strings.Repeat(part, 20_000/len(part))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				Text(text)
			}
		})
	}
}
