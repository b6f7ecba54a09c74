package mask

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// register makes these the only secrets, for one test.
func register(t testing.TB, add func()) {
	reset := func() {
		mu.Lock()
		defer mu.Unlock()
		clear(all)
		known.Store(nil)
		odd.Store(nil)
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

// braces escapes each character as JavaScript and Rust do.
func braces(text string) string {
	var b strings.Builder
	for _, c := range text {
		fmt.Fprintf(&b, `\u{%x}`, c)
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
		"octal":       func(s string) string { return percent(s, `\%03o`) },
		"braces":      braces,
		"SQL":         func(s string) string { return strings.ReplaceAll(s, "'", "''") },
		"CSV":         func(s string) string { return strings.ReplaceAll(s, `"`, `""`) },
		"shell":       func(s string) string { return strings.ReplaceAll(s, "'", `'\''`) },
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
			"octal", "braces", "SQL", "CSV", "shell",
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

// A secret is found in base64 and in hexadecimal, also twice, and however it was escaped
// before or is afterwards.
func TestSecretsAreMaskedInBase64AndHexadecimal(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := secret(r, "secret")
		register(t, func() { Add(s) })
		escape := encodings(r)
		names := []string{"as it is", "JSON", "JavaScript", "Go", "query", "path", "percent", "HTML", "octal"}
		encode := map[string]func(string) string{
			"standard": func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
			"URL":      func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
			"lines": func(s string) string {
				return regexp.MustCompile(".{20}").ReplaceAllString(base64.StdEncoding.EncodeToString([]byte(s)), "$0\r\n")
			},
			"hexadecimal": func(s string) string { return hex.EncodeToString([]byte(s)) },
			"upper":       func(s string) string { return strings.ToUpper(hex.EncodeToString([]byte(s))) },
		}
		text, done := s, []string{}
		for range rapid.IntRange(1, 2).Draw(r, "times") {
			before, after := rapid.StringMatching(`[0-9: ]{0,5}`).Draw(r, "before"), rapid.StringMatching(`[0-9: ]{0,5}`).Draw(r, "after")
			first, second := rapid.SampledFrom(names).Draw(r, "escape"), rapid.SampledFrom(slices.Sorted(maps.Keys(encode))).Draw(r, "encode")
			text, done = encode[second](before+escape[first](text)+after), append(done, first, second)
		}
		plain := text
		text = "value" + escape[rapid.SampledFrom([]string{"as it is", "JSON", "Go", "query"}).Draw(r, "last")](text) + "!"
		if masked := Text(text); !strings.Contains(masked, replacement) || len(masked) > len(text)-len(s) && strings.Contains(masked, plain) {
			r.Fatalf("%q is not masked in %q (%v): %q", s, text, done, masked)
		}
	})
}

// Scripts, servers and the target choose the texts: whichever these are, and whatever the
// secret is, they are masked in good time. A minute is a hang.
func TestTextsOfEscapesTakeNoLongTime(t *testing.T) {
	register(t, func() { Add(strings.Repeat(`\`, 20)) })
	done := make(chan string)
	go func() { done <- Text(strings.Repeat(`\`, 400_000)) }()
	select {
	case masked := <-done:
		if masked != replacement {
			t.Errorf("%d bytes are left", len(masked))
		}
	case <-time.After(time.Minute):
		t.Fatal("not masked in a minute")
	}
	var out bytes.Buffer
	l := NewLines(&out)
	for range 40 { // a line that is all secret is not kept in memory until it ends
		if _, err := l.Write(bytes.Repeat([]byte(`\`), 10_000)); err != nil || len(l.pending) > 2*maxLine {
			t.Fatal(len(l.pending), err)
		}
	}
	if _, err := l.Write([]byte("rest\nnext\n")); err != nil || out.String() != replacement+"\nnext\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
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

// A secret of which a line's limit has no room for every spelling is not cut by the limit: all
// of it is masked, and the rest of the line is written.
func TestLongSecretsInLongLines(t *testing.T) {
	key := ""
	for i := range 500 {
		key += fmt.Sprintf("%04x", i*i%65521)
	}
	for name, line := range map[string]string{
		"behind the limit": strings.Repeat("x ", maxLine) + "postgres://app:" + key + "@db.test/shop and more\n",
		"across the limit": strings.Repeat("x", maxLine-len(key)/2) + key + strings.Repeat(" y", maxLine) + "\n",
		"from the begin":   strings.Repeat(key, 200) + key[:len(key)/2] + "\n",
	} {
		register(t, func() { Add(key) })
		var out bytes.Buffer
		l := NewLines(&out)
		for rest := line + "next\n"; rest != ""; {
			n := min(len(rest), 1000)
			if _, err := l.Write([]byte(rest[:n])); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := l.Flush(); err != nil {
			t.Fatal(err)
		}
		want := Text(line) + "next\n"
		if name == "from the begin" { // too long to be kept: the rest is not looked at
			want = replacement + "\nnext\n"
		}
		if out.String() != want {
			t.Errorf("%s: %d bytes were written, want %d; a part of the secret: %t", name, out.Len(), len(want), strings.Contains(out.String(), key[:32]))
		}
	}
}

func TestSecretsOfDSNs(t *testing.T) {
	for _, c := range []struct {
		dsn    string
		secret []string // secrets that are masked alone
		public []string // texts that are not masked
	}{
		{"assay:s3cret@tcp(db.test:3306)/shop", []string{"s3cret"}, []string{"assay", "db.test", "shop", "assay@tcp(db.test:3306)/shop"}},
		{"assay:p@ss/w:rd@tcp(db.test:3306)/shop?tls=true", []string{"p@ss/w:rd"}, []string{"tls=true", "assay"}},
		{"postgres://assay:p%40ss%2Fword@db.test/shop?sslmode=disable", []string{"p@ss/word", "p%40ss%2Fword", "p%40ss%2fword"}, []string{"sslmode=disable"}},
		{"postgres://db.test/shop?user=assay&password=p%26ss+word", []string{"p&ss word", "p%26ss+word", "p%26ss%20word"}, []string{"user=assay"}},
		{"postgres://assay:100%@db.test/shop", []string{"100%"}, []string{"db.test"}},
		{"kafka://assay:kpass@broker:9093?tls=true&sasl=plain", []string{"kpass"}, []string{"sasl=plain"}},
		{"http://influx.test:8086?db=assay&p=x&token=t0ken", []string{"t0ken"}, []string{"db=assay"}},
		{"a=u:first@tcp(a:3306)/shop b=u:second@tcp(b:3306)/shop", []string{"first", "second", "u:first@tcp(a:3306)/shop"}, []string{"shop", "a:3306"}},
		{"a=postgres://app:Zq7%40word%2Fpart@127.0.0.1:1/shop", []string{"Zq7@word/part", "Zq7%40word%2Fpart"}, []string{"app", "127.0.0.1:1/shop"}},
		{"a=app:abc@tcp(db.test:3306)/shop", []string{"app:abc@", "app:abc@tcp(db.test:3306)/shop"}, []string{"abc", "app"}},
		{"first postgres://app:Zq7%40w@h1/shop b=postgres://app:Zq8%40w@h2/shop", []string{"Zq7@w", "Zq8@w"}, []string{"h1/shop"}},
		{"postgres://app:Zq7%40w@h1/%zz", []string{"Zq7@w", "Zq7%40w"}, nil},
		{"postgres://db.test/shop?pass%77ord=s3cret", []string{"s3cret"}, nil},
		{"root:a@tcp(db.test:3306)/shop", []string{"root:a@"}, []string{"a", "root", "alpha", "root:abc"}},
		{"u:p?w/x@yz@unix(/run/db.sock)/shop?tlsCA=/srv/ca.pem&tls=true", []string{"p?w/x@yz"}, []string{"tlsCA=/srv/ca.pem", "/run/db.sock"}},
		{"postgres://assay:raw?pass@db.test/shop", []string{"raw?pass"}, []string{"db.test"}},
		{"postgres://db.test:5432/shop?user=a@b", nil, []string{"postgres://db.test:5432/shop?user=a@b", "5432/shop"}},
		{"postgres://assay@db.test/shop?sslkey=/srv/key.pem&passfile=/srv/pgpass", nil, []string{"/srv/key.pem", "/srv/pgpass"}},
		{"s3://b/k?X-Amz-Credential=AKIA&X-Amz-Signature=51gn", []string{"AKIA", "51gn"}, []string{"X-Amz"}},
		{"http://shop.test/;token=Zq7word", []string{"Zq7word"}, []string{"shop.test"}},
		{"http://shop.test/a/token=Zq7word/b", []string{"Zq7word"}, []string{"shop.test/a"}},
		{"http://shop.test/&token=Zq7word", []string{"Zq7word"}, nil},
		{"http://shop.test/#token=Zq7word", []string{"Zq7word"}, nil},
		{"http://shop.test/%3Ftoken=Zq7word", []string{"Zq7word"}, nil},
		{"http://shop.test/%253Btoken%253DZq7word", []string{"Zq7word"}, nil},
		{"http://u:Zq7word%40shop.test:80", []string{"Zq7word"}, []string{"shop.test:80"}},
		{"http://u%3AZq7word%40shop.test:80", []string{"Zq7word"}, []string{"shop.test:80"}},
		{"http://shop.test/v1/tokens/a=b", nil, []string{"http://shop.test/v1/tokens/a=b", "tokens"}},
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

// A refusal quotes what it refuses, whichever argument has the secret; and ordinary arguments
// have none.
func TestSecretsOfArguments(t *testing.T) {
	for _, arg := range []string{
		"http://u:Zq7word@127.0.0.1:1/?token=Zq7word", "--rate=postgres://u:Zq7word@h/d", "postgres://u:Zq7word@h/d", "-dpostgres://u:Zq7word@h/d", "-d=u:Zq7word@tcp(h:1)/d",
		"u:Zq7word@h:1", "--listen=u:Zq7word@h:1", "-du:Zq7=word@tcp(h:1)/d", "u:Zq7=word@h:1", "influxdb=http://u:Zq7word@h:1", "two writers:TPCC_TARGETS=root:Zq7word@tcp(a)/tpcc u:Zq7word@tcp(b)/tpcc",
		"user:Zq7word@tcp(h:1)/d", "user:Zq7word@h:1", "http://127.0.0.1:1/;token=Zq7word", "http://u:Zq7word%40127.0.0.1:1",
	} {
		register(t, func() { Arguments([]string{"target", arg}) })
		if got := Text(fmt.Sprintf("invalid argument %q", arg)); strings.Contains(got, "Zq7") {
			t.Errorf("%s is shown as %s", arg, got)
		}
	}
	for _, arg := range []string{
		"certify", "payment", "--rate=100/s", "10.0.0.5:7077", "--target=http://127.0.0.1:8080/a/b", "root@tcp(127.0.0.1:3307)/", "two writers:TPCC_TARGETS=root@tcp(a)/tpcc root@tcp(b)/tpcc",
		"user:anabel@corp.test", "--subject=user:anabel@corp.test", "assay:v1.2.3@sha256:" + strings.Repeat("0a", 32), "registry:5000/assay:v1.2.3@sha256:" + strings.Repeat("0a", 32),
		"2024-05-18T18:00/4h", "/users/{name}/orders", "duration=request.time", "csv=raw-%d.csv", "shop/api-test:6443/ana@corp.test", "pi:db-ABC?region=eu-west-1",
	} {
		if register(t, func() { Arguments([]string{arg}) }); known.Load() != nil {
			t.Errorf("%s has no secret, but %q are masked", arg, slices.Collect(maps.Keys(all)))
		}
	}
}

// A client may read a password as parts of a URL.
func TestPiecesOfPasswords(t *testing.T) {
	for _, dsn := range []string{
		"assay:Zq7@word/part+x9@tcp(db.test:3306)/shop", "postgres://assay:Zq7%40word%2Fpart+x9@db.test/shop",
		"postgres://db.test/shop?user=assay&password=Zq7@word/part%2Bx9",
		"a=assay:Zq7@word/part+x9@tcp(db.test:3306)/shop b=assay:Zq8@tcp(other.test:3306)/shop",
	} {
		register(t, func() { AddDSN(dsn) })
		for text, want := range map[string]string{
			"http://****@word/part+x9/x": "http://*******/x", "GET /part+x9/x": "GET ***/x", "GET /part%2Bx9/x": "GET ***/x",
			"the word part, for assay@tcp(db.test:3306)/shop": "the word part, for assay@tcp(db.test:3306)/shop",
		} {
			if got := Text(text); got != want {
				t.Errorf("%s: %q became %q, want %q", dsn, text, got, want)
			}
		}
	}
	register(t, func() { AddDSN("assay:secret@checkout/payments?all@tcp(db.test:3306)/shop") })
	const text = "GET /payments of checkout"
	if got := Text(text); got != text {
		t.Errorf("%q became %q", text, got)
	}
}

func TestSecretsOfTheEnvironment(t *testing.T) {
	key := "-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49AgEG\n-----END PRIVATE KEY-----\n"
	for name, value := range map[string]string{
		"ASSAY_DB": "assay:dbpass@tcp(db:3306)/shop", "ASSAY_DB_NODES": "a=assay:nodepass@tcp(a:3306)/shop", "ASSAY_KAFKA": "kafka://u:kafkapass@k:9092",
		"ASSAY_INFLUX_TOKEN": "admin:influxpass", "ASSAY_JOIN_TOKEN": "jointoken", "ASSAY_STUB_TOKEN": "stubtoken", "ASSAY_SIGNING_KEY": key,
		"ASSAY_TARGET": "http://u:targetpass@shop.test/?token=querytoken", "AWS_SECRET_ACCESS_KEY": "awskey", "AWS_SESSION_TOKEN": "awssession",
		"OTEL_EXPORTER_OTLP_HEADERS":        "authorization=Bearer%20pushtoken,x-key=second, x-b = third%20,x-c=Basic%20YWRtaW46YmFzaWNwYXNz",
		"AWS_CONTAINER_AUTHORIZATION_TOKEN": "Basic Y2xpZW50OmNsb3VkcGFzcw==", "PGPASSWORD": "pgpass ", "HTTPS_PROXY": "http://u:proxypass@proxy:3128",
	} {
		t.Setenv(name, value)
	}
	register(t, Environment)
	for _, s := range []string{
		"dbpass", "nodepass", "kafkapass", "influxpass", "jointoken", "stubtoken", "MIGHAgEAMBMGByqGSM49AgEG", "targetpass", "querytoken",
		"awskey", "awssession", "pushtoken", "second", "third", "basicpass", "cloudpass", "pgpass", "proxypass",
	} {
		if got := Text("<" + s + ">"); got != "<"+replacement+">" {
			t.Errorf("%s is shown as %q", s, got)
		}
	}
	if text := "-----BEGIN PRIVATE KEY----- shop.test Bearer admin"; Text(text) != text {
		t.Errorf("%q became %q", text, Text(text))
	}
}

// A text that is cut was masked before, and is cut between characters.
func TestTextsAreMaskedBeforeTheyAreCut(t *testing.T) {
	register(t, func() { Add("a-long-secret", "two  spaces") })
	for _, c := range []struct {
		got, want string
	}{
		{Cut("0123456789 a-long-secret", 16), "0123456789 ***"},
		{Cut("0123456789 a-long-secret", 13), "0123456789..."},
		{Cut("ééééé", 8), "éé..."},
		{Cut("\xffééé", 8), "ééé"},
		{Line("a\n b\ttwo  spaces", 100), "a b ***"},
	} {
		if c.got != c.want {
			t.Errorf("%q, not %q", c.got, c.want)
		}
	}
	Keep("two  spaces")
	t.Cleanup(kept.Clear)
	if got := Text("two  spaces") + Text("two  spaces."); got != "two  spaces***." {
		t.Errorf("%q", got)
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
