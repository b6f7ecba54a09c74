package accesslog

import (
	"fmt"
	"time"
)

// Format is a format of access logs.
type Format string

// The formats.
const (
	Combined Format = "combined"
	JSON     Format = "json"
	ALB      Format = "alb"
)

var parsers = map[Format]func(Options) Parser{
	Combined: func(o Options) Parser { return &combined{unit: o.Unit} },
	JSON:     func(o Options) Parser { return newJSON(o) },
	ALB:      func(Options) Parser { return &alb{} },
}

// Formats are all of them, in the order in which Sample prefers them.
var Formats = []Format{Combined, JSON, ALB}

// ParseFormat reads the name of a format.
func ParseFormat(name string) (Format, error) {
	if parsers[Format(name)] == nil {
		return "", fmt.Errorf("format %q is not one of %s, %s, %s", name, Combined, JSON, ALB)
	}
	return Format(name), nil
}

// Options are what a format leaves open. The zero value is valid.
type Options struct {
	Zone   *time.Location    // zone of times without one; nil: UTC
	Unit   Unit              // unit of the time that a request took; 0: by what the log looks like
	Fields map[string]string // names of fields of JSON lines by their role (ParseField)

	auto Unit // unit of durations in JSON whose unit is not known; Sample settles it
}

// New returns a parser of a format.
func New(f Format, o Options) Parser { return parsers[f](o) }

// Sampled is what a sample of a log shows.
type Sampled struct {
	Format  Format
	Options Options // complete: also the unit of durations
	// Understood is how many of the sample's lines each tried format understands.
	Understood map[Format]int
	Of         int    // lines in the sample
	Durations  string // where the requests' times come from; empty: not said
}

// Sample tries formats on lines of a log, and takes the one that understands most.
func Sample(lines [][]byte, try []Format, o Options) Sampled {
	s := Sampled{Understood: map[Format]int{}, Of: len(lines), Options: o}
	for _, f := range try {
		p, n := New(f, o), 0
		var durations []sampled
		if j, ok := p.(*jsonLines); ok {
			j.sampled = &durations
		}
		for _, line := range lines {
			var e Entry
			if problem := p.Parse(line, &e); problem == None || problem == NoPath {
				n++
			}
		}
		s.Understood[f] = n
		if s.Format != "" && n <= s.Understood[s.Format] {
			continue
		}
		s.Format, s.Options.auto = f, 0
		if j, ok := p.(*jsonLines); ok {
			j.auto = settle(durations)
			s.Options.auto = j.auto
		}
		s.Durations = p.durations()
	}
	return s
}
