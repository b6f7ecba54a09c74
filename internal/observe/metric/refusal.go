// SPDX-License-Identifier: Apache-2.0

package metric

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"assay.dev/assay/internal/mask"
)

// Reasons for which points of foreign senders are not recorded: values of the label
// reason of ForeignRefused.
const (
	reasonKind       = "kind"       // no counter, gauge or histogram can be made of it
	reasonBuckets    = "buckets"    // a histogram that contradicts itself, or has negative observations
	reasonValue      = "value"      // not a finite number, or a decrease
	reasonTime       = "time"       // it does not say when it was measured, or that is not now
	reasonAttributes = "attributes" // too many or too long
	reasonSeries     = "series"     // more series than are kept
)

// maxRefusals bounds the distinct refusals that are told apart, by metric and reason.
const maxRefusals = 200

type refusalKey struct{ source, metric, reason string }

// refusal counts the points that were refused for one reason.
type refusal struct {
	points uint64
	text   string // about the first of them
}

// refusals are by source, metric and reason.
type refusals map[refusalKey]refusal

func (r *refusals) add(source, name, reason string, err error) {
	r.count(refusalKey{source, mask.Cut(name, maxServiceText), reason}, refusal{1, err.Error()})
}

// count adds refusals. Further metrics than can be told apart are counted without their
// name.
func (r *refusals) count(key refusalKey, more refusal) {
	if *r == nil {
		*r = refusals{}
	}
	if _, known := (*r)[key]; !known && len(*r) >= maxRefusals {
		key.metric = ""
	}
	(*r)[key] = refusal{(*r)[key].points + more.points, cmp.Or((*r)[key].text, more.text)}
}

// inOrder lists the keys in a fixed order.
func (r refusals) inOrder() []refusalKey {
	return slices.SortedFunc(maps.Keys(r), func(a, b refusalKey) int {
		return cmp.Or(cmp.Compare(a.source, b.source), cmp.Compare(a.metric, b.metric), cmp.Compare(a.reason, b.reason))
	})
}

// text is what is said of a refusal.
func (k refusalKey) text(r refusal) string {
	return fmt.Sprintf("%s: metric %q: %s", k.source, k.metric, r.text)
}

// response is an ExportMetricsServiceResponse that tells the sender how many of its points
// were refused, and why the first of them; empty: all points were accepted.
func (r refusals) response() []byte {
	points, first := uint64(0), ""
	for _, key := range r.inOrder() {
		points, first = points+r[key].points, cmp.Or(first, key.text(r[key]))
	}
	if points == 0 {
		return nil
	}
	partial := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), points)
	partial = protowire.AppendString(protowire.AppendTag(partial, 2, protowire.BytesType), validText(first))
	return protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), partial)
}
