package accesslog

import (
	"bytes"
	"time"
)

// alb parses lines of an AWS Application Load Balancer, whose fields are separated by
// spaces, some of them in quotes:
// https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-access-logs.html
type alb struct{ timed bool }

// Numbers of fields, from 0.
const (
	albType    = 0
	albTime    = 1 // when the response was sent
	albTimes   = 5 // times of request, target and response, in s; -1 where there was none
	albStatus  = 8
	albRequest = 12
	albCreated = 21 // when the request came; old lines have none
	albFields  = 22
)

func (p *alb) Parse(line []byte, e *Entry) Problem {
	var fields [albFields][]byte
	n := 0
	for n < albFields && len(line) > 0 {
		field, rest, ok := quoted(line)
		if !ok {
			i := bytes.IndexByte(line, ' ')
			if i < 0 {
				i = len(line)
			}
			field, rest = line[:i], line[i:]
		}
		fields[n] = field
		n++
		line = bytes.TrimPrefix(rest, []byte(" "))
	}
	switch string(fields[albType]) {
	case "http", "https", "h2", "grpcs", "ws", "wss":
	default:
		return NoType
	}
	at, ok := isoTime(fields[albTime], time.UTC)
	if !ok {
		return NoTime
	}
	e.Latency = albLatency(fields[albTimes:albStatus])
	p.timed = p.timed || e.Latency != NoLatency
	e.At = at.arrival(e.Latency)
	if created, ok := isoTime(fields[albCreated], time.UTC); ok {
		e.At = created.micros
	}
	if n <= albRequest {
		return NoRequest
	}
	if !e.setStatus(fields[albStatus]) {
		if string(fields[albStatus]) == "-" {
			return NoPath // no response was sent: there was no valid request
		}
		return NoStatus
	}
	return e.setRequestLine(fields[albRequest])
}

func albLatency(times [][]byte) int64 {
	sum := 0.0
	for _, t := range times {
		v, _, ok := decimal(t)
		if !ok {
			return NoLatency
		}
		sum += v
	}
	return micros(sum, Unit(time.Second))
}

func (p *alb) durations() string {
	if !p.timed {
		return ""
	}
	return "the three processing times, in s"
}
