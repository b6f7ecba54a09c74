package mark

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strings"
)

// TraceID is the id of a trace, of 16 bytes.
type TraceID [16]byte

// String is the id as traceparent and logs write it: 32 digits of lower-case hex.
func (id TraceID) String() string { return hex.EncodeToString(id[:]) }

// ids derives the trace ids of one scenario of a run.
//
// The number of a transaction is encrypted (AES-128) with a key that is a digest of the
// run, its seed and the scenario: ids of different numbers are different, ids of
// different runs are as unlikely to be equal as random ones, and every byte looks random,
// by which samplers and storages divide them.
type ids struct {
	block   cipher.Block
	sampled uint64 // ids whose last 7 bytes are at least this are sampled
}

func newIDs(run string, seed uint64, scenario string, sampled float64) ids {
	key := sha256.Sum256(fmt.Appendf(nil, "assay trace\x00%s\x00%d\x00%s", run, seed, scenario))
	block, err := aes.NewCipher(key[:16])
	if err != nil {
		panic(err) // for keys of another size only
	}
	return ids{block, rejection(sampled)}
}

// randomBits is how many bits of an id, the last ones, samplers take for random (W3C
// Trace Context, level 2).
const randomBits = 56

// rejection is the smallest value of these bits with which a trace is sampled. Samplers of
// OpenTelemetry that decide by the id (consistent probability sampling) decide like this.
func rejection(sampled float64) uint64 {
	return uint64(math.Round((1 - sampled) * (1 << randomBits)))
}

// set sets the id of a transaction.
func (i ids) set(id *TraceID, number int64) {
	*id = TraceID{}
	binary.BigEndian.PutUint64(id[8:], uint64(number))
	i.block.Encrypt(id[:], id[:])
}

// isSampled decides by the id alone, so that all requests of a transaction have the same
// flag.
func (i ids) isSampled(id TraceID) bool {
	return binary.BigEndian.Uint64(id[8:])&(1<<randomBits-1) >= i.sampled
}

// span is the id of the request with this number, from 1, in a trace. It is never zero,
// which would be invalid.
func (id TraceID) span(number uint32) (span [8]byte) {
	// The finaliser of SplitMix64, a bijection: requests of one trace have different ids.
	x := binary.BigEndian.Uint64(id[:8]) + uint64(number)*0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	x ^= x >> 31
	if x == 0 {
		x = 1
	}
	binary.BigEndian.PutUint64(span[:], x)
	return span
}

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
