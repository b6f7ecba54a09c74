package modeltest

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"sort"
	"strconv"
	"strings"
	"time"

	"assay.dev/assay/internal/project/model/accesslog"
)

// Flow is one kind of request.
type Flow struct {
	Method   string
	Path     string  // {id} is a key, and {uuid} a key as a UUID
	Weight   float64 // share of the requests, relative to the other flows
	Keys     int     // number of keys; 0: none
	Exponent float64 // exponent of the keys' Zipf distribution
	Errors   float64 // share that is answered by 503
	Latency  float64 // ms, mean of an exponential distribution; 0: the lines have no time
}

// Stage is a time at a rate, requests per second.
type Stage struct {
	Seconds int
	Rate    float64
}

// Log is an access log.
type Log struct {
	Start  time.Time
	Stages []Stage
	Flows  []Flow
	Seed   uint64
	// Burst: of each two seconds, one has (1+Burst) times the rate, the other (1-Burst)
	// times.
	Burst float64
}

// Truth is what is in a log.
type Truth struct {
	Seconds [][]int // requests by flow and second
	Errors  []int   // by flow
}

// Requests is the number of a flow's requests from one second to before another.
func (t Truth) Requests(flow, from, to int) (n int) {
	for _, of := range t.Seconds[flow][from:to] {
		n += of
	}
	return n
}

// Personal is what lines hold of people, and no result may.
var Personal = []string{"198.51.100.", "wilma.flintstone", "Bedrock/7", "referrer.example", "sekrit"}

// People are plain names, which no text of a result has by chance.
var People = []string{
	"agatha", "bertram", "cosima", "dagobert", "edwina", "fergus", "gudrun", "hedwig", "ignatius", "jocasta",
	"kunibert", "leopold", "mathilde", "norbert", "ottilie", "philomena", "quirin", "roswitha", "sieglinde", "thaddeus",
}

// Write writes the log. Requests arrive at random: Poisson, given the number in a stage.
func (l Log) Write(to io.Writer, format accesslog.Format) (Truth, error) {
	random := rand.New(rand.NewPCG(l.Seed, 1))
	w := bufio.NewWriterSize(to, 1<<16)
	total := 0.0
	draws := make([]func() int, len(l.Flows))
	truth := Truth{Seconds: make([][]int, len(l.Flows)), Errors: make([]int, len(l.Flows))}
	for i, f := range l.Flows {
		total += f.Weight
		draws[i] = zipf(rand.New(rand.NewPCG(l.Seed, uint64(i)+2)), f.Keys, f.Exponent)
	}
	second := 0
	var line []byte
	for _, s := range l.Stages {
		counts := make([]int, s.Seconds)
		for n := int(math.Round(s.Rate * float64(s.Seconds))); n > 0; {
			at := random.IntN(s.Seconds)
			if at%2 == 1 && random.Float64() < 2*l.Burst/(1+l.Burst) {
				continue // the second with less takes (1-Burst)/(1+Burst) of the other
			}
			counts[at]++
			n--
		}
		for _, n := range counts {
			for f := range truth.Seconds {
				truth.Seconds[f] = append(truth.Seconds[f], 0)
			}
			at := l.Start.Add(time.Duration(second) * time.Second)
			for range n {
				f := pick(l.Flows, random.Float64()*total)
				truth.Seconds[f][second]++
				e := event{flow: l.Flows[f], at: at, key: draws[f](), status: 200, client: random.IntN(256)}
				if random.Float64() < e.flow.Errors {
					e.status = 503
					truth.Errors[f]++
				}
				e.took = random.ExpFloat64() * e.flow.Latency / 1000
				line = append(e.line(line[:0], format), '\n')
				if _, err := w.Write(line); err != nil {
					return truth, err
				}
			}
			second++
		}
	}
	return truth, w.Flush()
}

func pick(flows []Flow, at float64) int {
	for i, f := range flows {
		if at -= f.Weight; at < 0 {
			return i
		}
	}
	return len(flows) - 1
}

// zipf draws keys from 0.
func zipf(random *rand.Rand, keys int, exponent float64) func() int {
	cumulative := make([]float64, keys)
	sum := 0.0
	for i := range cumulative {
		sum += math.Pow(float64(i+1), -exponent)
		cumulative[i] = sum
	}
	return func() int {
		if keys == 0 {
			return 0
		}
		return sort.SearchFloat64s(cumulative, random.Float64()*sum)
	}
}

// event is one line.
type event struct {
	flow   Flow
	at     time.Time
	key    int
	status int
	client int
	took   float64 // s
}

func (e event) target() string {
	path := e.flow.Path
	if before, after, found := strings.Cut(path, "{id}"); found {
		path = before + strconv.Itoa(1_000_000+e.key*7) + after
	}
	if before, after, found := strings.Cut(path, "{uuid}"); found {
		path = before + fmt.Sprintf("6f1b1f3e-93d2-4b44-9a5c-%012x", e.key) + after
	}
	if before, after, found := strings.Cut(path, "?"); found {
		return before + "?" + strings.ReplaceAll(after, "=", "=sekrit") + strconv.Itoa(e.key)
	}
	return path
}

// line appends the line. Where the time of a line is when its request ended, it ends as many
// whole seconds later as the request took.
func (e event) line(b []byte, format accesslog.Format) []byte {
	ended := e.at.Add(time.Duration(math.Round(e.took)) * time.Second)
	switch format {
	case accesslog.JSON:
		b = append(b, `{"time_iso8601":"`...)
		b = ended.AppendFormat(b, time.RFC3339)
		b = fmt.Appendf(b, `","remote_addr":"198.51.100.%d","remote_user":"wilma.flintstone","request_method":"%s","request_uri":"%s","status":%d,"http_referer":"https://referrer.example/","http_user_agent":"Bedrock/7","http_cookie":"session=sekrit"`,
			e.client, e.flow.Method, e.target(), e.status)
		if e.flow.Latency > 0 {
			b = fmt.Appendf(b, `,"request_time":%.3f`, e.took)
		}
		return append(b, '}')
	case accesslog.ALB:
		b = append(b, "https "...)
		b = ended.UTC().AppendFormat(b, "2006-01-02T15:04:05.000000Z")
		b = fmt.Appendf(b, ` app/lb/50dc 198.51.100.%d:7777 10.0.0.1:80 0.000 %.3f 0.000 %d %d 34 366 "%s https://referrer.example:443%s HTTP/1.1" "Bedrock/7" ECDHE TLSv1.2 arn "Root=sekrit" "wilma.flintstone" "arn" 1 `,
			e.client, e.took, e.status, e.status, e.flow.Method, e.target())
		b = e.at.UTC().AppendFormat(b, "2006-01-02T15:04:05.000000Z")
		return append(b, ` "forward" "-"`...)
	}
	b = fmt.Appendf(b, `198.51.100.%d - wilma.flintstone [`, e.client)
	b = ended.AppendFormat(b, "02/Jan/2006:15:04:05 -0700")
	b = fmt.Appendf(b, `] "%s %s HTTP/1.1" %d 5316 "https://referrer.example/" "Bedrock/7 (X11; \"sekrit\")"`, e.flow.Method, e.target(), e.status)
	if e.flow.Latency > 0 {
		b = append(b, ' ')
		b = strconv.AppendFloat(b, e.took, 'f', 3, 64)
	}
	return b
}

// MatchDay is a log of a match: quiet, the rise, the toss, the match, and after it. Scale
// multiplies its rates; 1 gives a million requests.
func MatchDay(scale float64) Log {
	return Log{
		Start: time.Date(2024, 5, 18, 19, 0, 0, 0, time.FixedZone("", 5*3600+1800)),
		Stages: []Stage{
			{1000, 73 * scale}, {900, 200 * scale}, {300, 800 * scale}, {900, 450 * scale}, {600, 170 * scale},
		},
		Flows: []Flow{
			{Method: "GET", Path: "/api/v1/matches/{id}/score", Weight: 50, Keys: 40, Exponent: 1.2, Latency: 8},
			{Method: "GET", Path: "/api/v1/products/{id}?ref=", Weight: 20, Keys: 20_000, Exponent: 0.9, Latency: 20},
			{Method: "GET", Path: "/api/v1/products", Weight: 8, Latency: 40},
			{Method: "POST", Path: "/api/v1/orders", Weight: 5, Errors: 0.02, Latency: 120},
			{Method: "GET", Path: "/static/app.js", Weight: 15, Latency: 1},
			{Method: "GET", Path: "/healthz", Weight: 1.5, Latency: 1},
			{Method: "GET", Path: "/about", Weight: 0.5, Latency: 5},
		},
		Seed: 1,
	}
}
