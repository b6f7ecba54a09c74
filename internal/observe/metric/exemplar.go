// SPDX-License-Identifier: Apache-2.0

package metric

import (
	"errors"
	"fmt"
	"strings"

	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/encoding/protowire"
)

// Exemplar is one observation of a histogram, with the trace by which it is found in the
// system that was measured. A histogram has few of its observations as exemplars.
type Exemplar struct {
	TraceID [16]byte
	Nanos   int64 // unix ns
	Value   float64
	Labels  []Label // what is known of it, beyond the labels of its series
}

// Labels of an exemplar of TransactionDuration. Its time is the scheduled arrival.
const (
	ExemplarOutcome = "outcome"     // one of Outcomes; missing: completed
	ExemplarError   = "error_class" // class of the transaction's first error
	ExemplarSampled = "sampled"     // "true": its requests ask for the trace to be recorded
	violates        = "violates."   // and a number from 0: the ID of an SLO. The keys of OTLP's attributes are unique
)

// ViolatesLabels are the labels that name SLOs by their IDs.
func ViolatesLabels(slos []string) (all []Label) {
	for i, id := range slos {
		all = append(all, Label{fmt.Sprint(violates, i), id})
	}
	return all
}

// Violates are the IDs of the SLOs that the observation, or a part of it, violates.
func (e Exemplar) Violates() (slos []string) {
	for _, l := range e.Labels {
		if strings.HasPrefix(l.Key, violates) {
			slos = append(slos, l.Value)
		}
	}
	return slos
}

// Label returns the value of a label, or "" if there is none.
func (e Exemplar) Label(key string) string { return Series{Labels: e.Labels}.Label(key) }

// maxExemplars bounds those of one received point.
const maxExemplars = 1000

func encodeExemplars(all []Exemplar) (encoded []*metricspb.Exemplar) {
	for _, e := range all {
		encoded = append(encoded, &metricspb.Exemplar{
			FilteredAttributes: labelAttrs(e.Labels), TimeUnixNano: uint64(e.Nanos), TraceId: e.TraceID[:],
			Value: &metricspb.Exemplar_AsDouble{AsDouble: e.Value},
		})
	}
	return encoded
}

// exemplar reads a message Exemplar of our own, and keeps nothing of a foreign one.
func (d *Decoder) exemplar(b []byte, of *Point) error {
	if d.foreign != nil {
		return nil
	}
	if len(of.Exemplars) == maxExemplars {
		return fmt.Errorf("more than %d exemplars", maxExemplars)
	}
	var e Exemplar
	err := eachField(b, func(f field) error {
		switch {
		case f.is(2, protowire.Fixed64Type):
			e.Nanos = int64(f.value)
		case f.is(3, protowire.Fixed64Type):
			e.Value = f.float()
		case f.is(5, protowire.BytesType):
			if len(f.bytes) != len(e.TraceID) {
				return errors.New("exemplar without a trace id of 16 bytes")
			}
			copy(e.TraceID[:], f.bytes)
		case f.is(7, protowire.BytesType):
			a, err := readAttribute(f.bytes)
			if err != nil {
				return err
			}
			key, value := d.shownLabel(a.key, a.label())
			e.Labels = append(e.Labels, Label{key, value})
		}
		return nil
	})
	of.Exemplars = append(of.Exemplars, e)
	return err
}
