package accesslog

import "testing"

func BenchmarkParse(b *testing.B) {
	for format, text := range map[Format]string{
		Combined: `192.0.2.7 - - [18/May/2024:19:42:07 +0530] "GET /api/v1/products/1000042?ref=home HTTP/1.1" 200 5316 "https://a.example/" "Mozilla/5.0 (X11; Linux x86_64)" 0.012`,
		JSON:     `{"time_iso8601":"2024-05-18T19:42:07+05:30","remote_addr":"192.0.2.7","request_method":"GET","request_uri":"/api/v1/products/1000042?ref=home","status":200,"http_user_agent":"Mozilla/5.0 (X11; Linux x86_64)","request_time":0.012}`,
		ALB:      `https 2024-05-18T14:12:08.500000Z app/lb/50dc 192.0.2.7:2817 10.0.0.1:80 0.000 1.001 0.000 200 200 34 366 "GET https://www.example.com:443/api/v1/products/1000042?ref=home HTTP/1.1" "curl/7.46.0" ECDHE TLSv1.2 arn:aws "Root=1-58" "www.example.com" "arn" 1 2024-05-18T14:12:07.250000Z "forward" "-"`,
	} {
		b.Run(string(format), func(b *testing.B) {
			p, line := New(format, Options{}), []byte(text)
			b.ReportAllocs()
			n := 0.0
			for b.Loop() {
				var e Entry
				if problem := p.Parse(line, &e); problem != None {
					b.Fatal(problem)
				}
				n++
			}
			b.ReportMetric(n/b.Elapsed().Seconds(), "lines/s")
		})
	}
}
