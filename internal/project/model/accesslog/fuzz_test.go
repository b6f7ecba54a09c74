package accesslog

import (
	"bytes"
	"testing"
	"time"
)

// Whatever a line holds, a parser returns an entry that later stages can count, or a
// problem, and leaves the line as it is.
func FuzzParse(f *testing.F) {
	for _, line := range []string{
		`192.0.2.7 - - [18/May/2024:19:42:07 +0530] "GET /a/b?c=d HTTP/1.1" 200 5316 "-" "Mozilla/5.0 \"x\"" 0.012`,
		`::1 - [[[[[[[[ [18/May/2024:19:42:07 +0530] "GET http://a.example?x HTTP/1.1" 200 -`,
		`::1 - - [18/May/2024:19:42:07 +0530] "\\\" 200`,
		`{"ts":1716041527.5,"request":{"method":"GET","uri":"\u002fa"},"duration":1e-3,"status":200}`,
		`{"msec":"1716041527123456789","request":"GET /a HTTP/1.1","status":"200","latency":"1h"}`,
		`{"time":"2024-05-18 19:42:07,123","method":"GET","path":"/a","status":0,"a":{"b":[{}]}}`,
		`https 2024-05-18T14:12:08.5Z a b c 0.1 0.1 -1 200 200 34 366 "GET https://a:443/a?b HTTP/1.1" "x" - - - "" "" "" 1 2024-05-18T14:12:07.25Z "" ""`,
		"\x00\xff\xfe[", `"`, `{`, `[18/May/2024:19:42:07 +0530] `,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		before := bytes.Clone(line)
		for _, format := range Formats {
			p := New(format, Options{auto: Unit(time.Second)})
			for range 2 { // the second time with what the first one left
				var e Entry
				if problem := p.Parse(line, &e); problem != None {
					continue
				}
				if len(e.Target) == 0 || e.Target[0] != '/' || e.Latency < NoLatency || e.Latency > longest || int(e.Method) >= Methods || e.Status < 0 || e.Status > 999 {
					t.Fatalf("%s: %+v", format, e)
				}
				if e.At < earliest-longest || e.At >= latest {
					t.Fatalf("%s: at %d", format, e.At)
				}
			}
			if !bytes.Equal(line, before) {
				t.Fatalf("%s changed the line", format)
			}
		}
	})
}
