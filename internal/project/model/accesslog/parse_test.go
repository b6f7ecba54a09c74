package accesslog

import (
	"bytes"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// at is a time in µs since 1970.
func at(t *testing.T, rfc3339 string) int64 {
	t.Helper()
	when, err := time.Parse(time.RFC3339Nano, rfc3339)
	if err != nil {
		t.Fatal(err)
	}
	return when.UnixMicro()
}

func TestParse(t *testing.T) {
	const day = `[18/May/2024:19:42:07 +0530]` // 14:12:07 in UTC
	const agent = `"https://a.example/" "Mozilla/5.0 \"x\" [y]"`
	for _, c := range []struct {
		name    string
		format  Format
		line    string
		options Options
		at      string
		latency int64
		status  int
		method  Method
		target  string
	}{
		{"nginx combined", Combined, `192.0.2.7 - - ` + day + ` "GET /a/b?c=d HTTP/1.1" 200 5316 ` + agent, Options{}, "2024-05-18T14:12:07Z", NoLatency, 200, GET, "/a/b?c=d"},
		{"common", Combined, `192.0.2.7 - jo ` + day + ` "POST / HTTP/1.0" 503 -`, Options{}, "2024-05-18T14:12:07Z", NoLatency, 503, POST, "/"},
		{"virtual host", Combined, `a.example:443 ::1 - - ` + day + ` "HEAD /x HTTP/2.0" 301 0`, Options{}, "2024-05-18T14:12:07Z", NoLatency, 301, HEAD, "/x"},
		{"a user with brackets and spaces", Combined, `::1 - [18/May/2024:19:42:07 jo] x] ` + day + ` "GET /x HTTP/1.1" 200 1`, Options{}, "2024-05-18T14:12:07Z", NoLatency, 200, GET, "/x"},
		{"escaped quotes and a space in the target", Combined, `::1 - - ` + day + ` "GET /a\"b c\\ HTTP/1.1" 200 1`, Options{}, "2024-05-18T14:12:07Z", NoLatency, 200, GET, `/a\"b c\\`},
		{"nginx request_time, of a time at the end", Combined, `::1 - - ` + day + ` "GET /x HTTP/1.1" 200 5316 ` + agent + ` 2.600`, Options{}, "2024-05-18T14:12:04Z", 2_600_000, 200, GET, "/x"},
		{"a short one", Combined, `::1 - - ` + day + ` "GET /x HTTP/1.1" 200 5316 ` + agent + ` 0.012`, Options{}, "2024-05-18T14:12:07Z", 12_000, 200, GET, "/x"},
		{"ingress-nginx", Combined, `::1 - - ` + day + ` "GET /x HTTP/1.1" 200 5316 ` + agent + ` 612 0.345 [shop-web-80] [] 10.0.0.8:80 5316 0.344 200 f00`, Options{}, "2024-05-18T14:12:07Z", 345_000, 200, GET, "/x"},
		{"named", Combined, `::1 - - ` + day + ` "GET /x HTTP/1.1" 200 5316 ` + agent + ` rt="0.250" uct="0.000"`, Options{}, "2024-05-18T14:12:07Z", 250_000, 200, GET, "/x"},
		{"quoted gzip ratio and forwarded address are no time", Combined, `::1 - - ` + day + ` "GET /x HTTP/1.1" 200 5316 ` + agent + ` "3.22" "192.0.2.9"`, Options{}, "2024-05-18T14:12:07Z", NoLatency, 200, GET, "/x"},
		{"Apache %D, of a time at the start", Combined, `::1 - - ` + day + ` "GET /x HTTP/1.1" 200 5316 ` + agent + ` 4250000`, Options{Unit: Unit(time.Microsecond)}, "2024-05-18T14:12:07Z", 4_250_000, 200, GET, "/x"},
		{"Apache %T", Combined, `::1 - - ` + day + ` "GET /x HTTP/1.1" 200 5316 ` + agent + ` 4`, Options{Unit: Unit(time.Second)}, "2024-05-18T14:12:07Z", 4_000_000, 200, GET, "/x"},
		{"Apache combinedio: bytes are no time", Combined, `::1 - - ` + day + ` "GET /x HTTP/1.1" 200 5316 ` + agent + ` 523 5711`, Options{}, "2024-05-18T14:12:07Z", NoLatency, 200, GET, "/x"},
		{"nginx $msec before $request_time", Combined, `::1 - - ` + day + ` "GET /x HTTP/1.1" 200 5316 ` + agent + ` 1716041527.123 0.012 .`, Options{}, "2024-05-18T14:12:07Z", 12_000, 200, GET, "/x"},
		{"a year is no request's time", Combined, `::1 - - ` + day + ` "GET /x HTTP/1.1" 200 5316 ` + agent + ` 99999999999.5`, Options{}, "2024-05-18T14:12:07Z", NoLatency, 200, GET, "/x"},
		{"nothing was sent", Combined, `::1 - - ` + day + ` "GET /x HTTP/1.1" 000 0`, Options{}, "2024-05-18T14:12:07Z", NoLatency, 0, GET, "/x"},
		{"absolute target with a fragment", Combined, `::1 - - ` + day + ` "GET http://a.example:80/x?y=1#z HTTP/1.1" 200 1`, Options{}, "2024-05-18T14:12:07Z", NoLatency, 200, GET, "/x?y=1"},
		{"a host alone", Combined, `::1 - - ` + day + ` "GET http://a.example HTTP/1.1" 200 1`, Options{}, "2024-05-18T14:12:07Z", NoLatency, 200, GET, "/"},
		{"another method", Combined, `::1 - - ` + day + ` "PROPFIND /x HTTP/1.1" 207 1`, Options{}, "2024-05-18T14:12:07Z", NoLatency, 207, OTHER, "/x"},

		{"a leap second", Combined, `::1 - - [31/Dec/2016:23:59:60 +0000] "GET /x HTTP/1.1" 200 1`, Options{}, "2017-01-01T00:00:00Z", NoLatency, 200, GET, "/x"},
		{"minutes are no request's time", JSON, `{"time":"2024-05-18T14:12:07Z","method":"GET","path":"/a","status":200,"duration":"5m"}`, Options{}, "2024-05-18T14:12:07Z", NoLatency, 200, GET, "/a"},

		{"nginx JSON", JSON, `{"time_local":"18/May/2024:19:42:07 +0530","remote_addr":"192.0.2.7","request":"GET \/a?b=c HTTP\/1.1","status":"200","request_time":"0.012"}`, Options{}, "2024-05-18T14:12:07Z", 12_000, 200, GET, "/a?b=c"},
		{"nginx JSON, the target with its query", JSON, `{"msec":1716041527.250,"uri":"/index.php","request_uri":"/a?b","request_method":"PUT","status":204,"request_time":0.250}`, Options{}, "2024-05-18T14:12:07Z", 250_000, 204, PUT, "/a?b"},
		{"Caddy", JSON, `{"level":"info","ts":1716041527.5,"request":{"remote_ip":"::1","method":"GET","host":"a","uri":"/a","headers":{"Cookie":["s"]}},"duration":0.000929675,"status":200}`, Options{auto: Unit(time.Second)}, "2024-05-18T14:12:07.49907Z", 930, 200, GET, "/a"},
		{"Envoy", JSON, `{"start_time":"2024-05-18T14:12:07.250Z","method":"DELETE","path":"/a","response_code":200,"duration":12,"user_agent":"x"}`, Options{auto: Unit(time.Millisecond)}, "2024-05-18T14:12:07.25Z", 12_000, 200, DELETE, "/a"},
		{"Google Cloud", JSON, `{"httpRequest":{"requestMethod":"GET","requestUrl":"https://a.example/a","status":404,"latency":"0.250s"},"timestamp":"2024-05-18T14:12:07.500Z"}`, Options{}, "2024-05-18T14:12:07.25Z", 250_000, 404, GET, "/a"},
		{"Traefik", JSON, `{"Duration":2500000,"DownstreamStatus":200,"RequestMethod":"PATCH","RequestPath":"/a","StartUTC":"2024-05-18T14:12:07.123456789Z","time":"2024-05-18T14:12:08Z"}`, Options{}, "2024-05-18T14:12:07.123456Z", 2_500, 200, PATCH, "/a"},
		{"flat names with dots", JSON, `{"@timestamp":"2024-05-18 19:42:07+0530","http.request.method":"GET","url.path":"/a","http.response.status_code":200}`, Options{}, "2024-05-18T14:12:07Z", NoLatency, 200, GET, "/a"},
		{"given fields", JSON, `{"when":1716041527,"time":"never","verb":"GET","where":{"to":"/a"},"path":"/b","code":200,"status":"fine","took":40}`, Options{Unit: Unit(time.Millisecond), Fields: map[string]string{"time": "when", "path": "where.to", "status": "code", "duration": "took"}}, "2024-05-18T14:12:07Z", 40_000, 200, GET, "/a"},
		{"a time without a zone", JSON, `{"time":"2024-05-18 19:42:07","method":"GET","path":"/a","status":200}`, Options{Zone: time.FixedZone("", 5*3600+1800)}, "2024-05-18T14:12:07Z", NoLatency, 200, GET, "/a"},
		{"nothing was sent, JSON", JSON, `{"time":"1716041527000","method":"GET","path":"/a","status":0}`, Options{}, "2024-05-18T14:12:07Z", NoLatency, 0, GET, "/a"},

		{"ALB", ALB, `https 2024-05-18T14:12:08.500000Z app/lb/50dc 192.168.131.39:2817 10.0.0.1:80 0.000 1.001 0.000 200 200 34 366 "GET https://www.example.com:443/a?b HTTP/1.1" "curl/7.46.0 \"x\"" ECDHE TLSv1.2 arn:aws "Root=1-58" "www.example.com" "arn" 1 2024-05-18T14:12:07.250000Z "forward" "-"`, Options{}, "2024-05-18T14:12:07.25Z", 1_001_000, 200, GET, "/a?b"},
		{"ALB without a creation time", ALB, `h2 2024-05-18T14:12:07.500000Z app/lb/50dc 192.168.131.39:2817 - -1 -1 -1 502 - 34 366 "POST https://www.example.com:443/a HTTP/2.0" "x" - -`, Options{}, "2024-05-18T14:12:07.5Z", NoLatency, 502, POST, "/a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var e Entry
			if problem := New(c.format, c.options).Parse([]byte(c.line), &e); problem != None {
				t.Fatalf("%v", problem)
			}
			if e.At != at(t, c.at) {
				t.Errorf("at %v, want %s", time.UnixMicro(e.At).UTC(), c.at)
			}
			if e.Latency != c.latency || e.Status != c.status || e.Method != c.method || string(e.Target) != c.target {
				t.Errorf("latency %d, status %d, %s %s; want %d, %d, %s %s", e.Latency, e.Status, e.Method, e.Target, c.latency, c.status, c.method, c.target)
			}
		})
	}
}

func TestProblems(t *testing.T) {
	const before, after = `::1 - - [18/May/2024:19:42:07 +0000] `, ` 200 1 "-" "x"`
	for _, c := range []struct {
		name   string
		format Format
		line   string
		want   Problem
	}{
		{"empty", Combined, "", NoTime},
		{"no such day", Combined, `::1 - - [31/Jun/2024:19:42:07 +0000] "GET / HTTP/1.1"` + after, NoTime},
		{"no leap year", Combined, `::1 - - [29/Feb/2100:19:42:07 +0000] "GET / HTTP/1.1"` + after, NoTime},
		{"no such hour", Combined, `::1 - - [18/May/2024:24:00:00 +0000] "GET / HTTP/1.1"` + after, NoTime},
		{"1970", Combined, `::1 - - [01/Jan/1970:00:00:00 +0000] "GET / HTTP/1.1"` + after, NoTime},
		{"no such month", Combined, `::1 - - [18/Mai/2024:19:42:07 +0000] "GET / HTTP/1.1"` + after, NoTime},
		{"cut off", Combined, before + `"GET / HTT`, NoRequest},
		{"status of two digits", Combined, before + `"GET / HTTP/1.1" 20`, NoStatus},
		{"status of four digits", Combined, before + `"GET / HTTP/1.1" 2000 1`, NoStatus},
		{"no request", Combined, before + `"-" 408 0`, NoPath},
		{"bytes of TLS", Combined, before + `"\x16\x03\x01\x00\xEE" 400 157`, NoPath},
		{"CONNECT", Combined, before + `"CONNECT a.example:443 HTTP/1.1"` + after, NoPath},
		{"OPTIONS *", Combined, before + `"OPTIONS * HTTP/1.1"` + after, NoPath},
		{"a method in lower case", Combined, before + `"get / HTTP/1.1"` + after, NoPath},
		{"another format", JSON, before, NotJSON},
		{"no object", JSON, `[1]`, NotJSON},
		{"cut off", JSON, `{"time":1716041527,"method":"GET"`, NotJSON},
		{"two objects", JSON, `{} {}`, NotJSON},
		{"no fields", JSON, `{}`, NoTime},
		{"a time without a date", JSON, `{"time":"19:42:07","method":"GET","path":"/","status":200}`, NoTime},
		{"a time that is null", JSON, `{"time":null,"method":"GET","path":"/","status":200}`, NoTime},
		{"a number of lottery size", JSON, `{"time":1716041527123456789012,"method":"GET","path":"/","status":200}`, NoTime},
		{"no status", JSON, `{"time":1716041527,"method":"GET","path":"/"}`, NoStatus},
		{"no path", JSON, `{"time":1716041527,"method":"GET","status":200}`, NoRequest},
		{"no method", JSON, `{"time":1716041527,"path":"/","status":200}`, NoRequest},
		{"another format", ALB, before, NoType},
		{"no time", ALB, `http yesterday app/lb`, NoTime},
		{"short", ALB, `http 2024-05-18T14:12:08.500000Z app/lb/50dc`, NoRequest},
		{"no valid request", ALB, `http 2024-05-18T14:12:08.500000Z app/lb/50dc ::1:1 - -1 -1 -1 - - 0 0 "- http://a:80- -" "-" - - - "-" "-" "-" - 2024-05-18T14:12:08.250000Z "-" "-"`, NoPath},
	} {
		t.Run(string(c.format)+": "+c.name, func(t *testing.T) {
			var e Entry
			if got := New(c.format, Options{}).Parse([]byte(c.line), &e); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestSample(t *testing.T) {
	const combined, alb = `::1 - - [18/May/2024:19:42:07 +0000] "GET / HTTP/1.1" 200 1 "-" "x" 0.1`, `http 2024-05-18T14:12:07.5Z app/lb/50dc ::1:1 - 0.1 0.1 0.1 200 - 34 366 "GET http://a:80/ HTTP/1.1"`
	took := func(value string) string {
		return `{"time":1716041527,"method":"GET","path":"/","status":200,"latency":` + value + `}`
	}
	for _, c := range []struct {
		name      string
		lines     string
		format    Format
		durations string
		latency   int64 // latency of the last line, µs
	}{
		{"combined among others", "x\n" + combined + "\n" + combined + "\n" + alb, Combined, "the number with a point after the user agent, in s", NoLatency},
		{"ALB", alb, ALB, "the three processing times, in s", 300_000},
		{"whole numbers are ms", took("3") + "\n" + took("40"), JSON, "field latency, in ms unless a value has its unit", 40_000},
		{"fractions are s", took("3") + "\n" + took("0.25"), JSON, "field latency, in s unless a value has its unit", 250_000},
		{"but not if they would be long", took("12.5") + "\n" + took("0.1") + "\n" + took("25.0"), JSON, "field latency, in ms unless a value has its unit", 25_000},
		{"ms of a slow service", took("9000") + "\n" + took("9500"), JSON, "field latency, in ms unless a value has its unit", 9_500_000},
		{"µs if ms would be long", took("250") + "\n" + took("12000") + "\n" + took("40000"), JSON, "field latency, in µs unless a value has its unit", 40_000},
		{"ns if µs would be long", took("900000") + "\n" + took("12000000") + "\n" + took("25000000"), JSON, "field latency, in ns unless a value has its unit", 25_000},
		{"fractions of µs", took("12000.5") + "\n" + took("40000.0"), JSON, "field latency, in µs unless a value has its unit", 40_000},
		{"with a unit each", took(`"25ms"`), JSON, "field latency, in ms unless a value has its unit", 25_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			var lines [][]byte
			for line := range strings.SplitSeq(c.lines, "\n") {
				lines = append(lines, []byte(line))
			}
			s := Sample(lines, Formats, Options{})
			if s.Format != c.format || s.Durations != c.durations || s.Of != len(lines) {
				t.Errorf("%+v", s)
			}
			var e Entry
			e.Latency = NoLatency
			New(s.Format, s.Options).Parse(lines[len(lines)-1], &e)
			if e.Latency != c.latency {
				t.Errorf("latency %d, want %d", e.Latency, c.latency)
			}
		})
	}
}

// Durations as Go's slog writes them are ns, so that requests arrived when they did.
func TestDurationsOfSlog(t *testing.T) {
	var log bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&log, nil))
	random := rand.New(rand.NewPCG(1, 1))
	var want []time.Duration
	for range 500 {
		took := time.Duration(random.ExpFloat64() * float64(12*time.Millisecond))
		want = append(want, took)
		logger.Info("request", "method", "GET", "path", "/", "status", 200, "duration", took)
	}
	lines := bytes.Split(bytes.TrimSpace(log.Bytes()), []byte("\n"))
	s := Sample(lines, Formats, Options{})
	p := New(s.Format, s.Options)
	for i, line := range lines {
		var e Entry
		if problem := p.Parse(line, &e); problem != None {
			t.Fatalf("%s: %v", line, problem)
		}
		if got := time.Duration(e.Latency) * time.Microsecond; (got - want[i]).Abs() > time.Microsecond {
			t.Fatalf("%s took %v, want %v", line, got, want[i])
		}
	}
}

// Every second of some years is read as the standard library reads it.
func TestTimesAreThoseOfTheStandardLibrary(t *testing.T) {
	for when := time.Date(1996, 1, 1, 0, 0, 0, 0, time.UTC); when.Year() < 2009; when = when.Add(7*time.Hour + 13*time.Minute + 11*time.Second) {
		for layout, read := range map[string]func([]byte) (instant, bool){
			"02/Jan/2006:15:04:05 -0700":       commonTime,
			"2006-01-02T15:04:05.000000Z07:00": func(b []byte) (instant, bool) { return isoTime(b, time.UTC) },
		} {
			for _, zone := range []*time.Location{time.UTC, time.FixedZone("", -11*3600), time.FixedZone("", 5*3600+1800)} {
				text := when.In(zone).Format(layout)
				if got, ok := read([]byte(text)); !ok || got.micros != when.UnixMicro() {
					t.Fatalf("%s is %d, %t, want %d", text, got.micros, ok, when.UnixMicro())
				}
			}
		}
	}
}
