package mark

import (
	"encoding/hex"
	"strings"
)

// Parts of a traceparent: 00-TRACE ID-SPAN ID-FLAGS, of fixed lengths.
const (
	traceAt       = len("00-")
	spanAt        = traceAt + 2*len(TraceID{}) + 1
	flagsAt       = spanAt + 2*8 + 1
	parentLen     = flagsAt + 2
	flagSampled   = '1'
	flagUnsampled = '0'
)

// traceparent writes the header. Of the flags it sets only sampled: the flag of level 2
// that the id is random is allowed to be set, but OpenTelemetry's SDK for Go before 1.44
// refuses a traceparent with both.
func traceparent(id TraceID, number uint32, sampled bool) string {
	var text [parentLen]byte
	span := id.span(number)
	copy(text[:], "00-")
	hex.Encode(text[traceAt:], id[:])
	text[spanAt-1] = '-'
	hex.Encode(text[spanAt:], span[:])
	text[flagsAt-1], text[flagsAt], text[flagsAt+1] = '-', '0', flagUnsampled
	if sampled {
		text[flagsAt+1] = flagSampled
	}
	return string(text[:])
}

// parseTraceparent reads the header of a script; false: it is malformed.
func parseTraceparent(text string) (id TraceID, sampled, ok bool) {
	if len(text) < parentLen || text[traceAt-1] != '-' || text[spanAt-1] != '-' || text[flagsAt-1] != '-' || strings.ToLower(text) != text {
		return id, false, false
	}
	var flags [1]byte
	if _, err := hex.Decode(flags[:], []byte(text[flagsAt:parentLen])); err != nil {
		return id, false, false
	}
	if _, err := hex.Decode(id[:], []byte(text[traceAt:spanAt-1])); err != nil || id == (TraceID{}) {
		return id, false, false
	}
	return id, flags[0]&1 == 1, true
}
