package pi

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/pi/types"

	"assay.dev/assay/internal/observe/collect"
	"assay.dev/assay/internal/observe/metric"
)

// FuzzLists: whatever lists the API answers with, the frames can be recorded.
func FuzzLists(f *testing.F) {
	f.Add(`[{"Key":{"Metric":"db.load.avg"},"DataPoints":[{"Timestamp":"1970-01-01T00:00:01Z","Value":3}]},{"Key":{"Dimensions":{"db.wait_event.name":"io/table/sql/handler"}},"DataPoints":[{"Timestamp":"1970-01-01T00:00:01Z","Value":5},{}]}]`)
	f.Add(`[{},{"Key":{}},{"Key":{"Dimensions":{"db.sql_tokenized.id":"é","db.sql_tokenized.statement":"select ?"}},"DataPoints":[{"Timestamp":"1970-01-01T00:00:02Z","Value":1e308},{"Timestamp":"1970-01-01T00:00:00Z","Value":-1}]}]`)
	f.Fuzz(func(t *testing.T, text string) {
		var lists []types.MetricKeyDataPoints
		if json.Unmarshal([]byte(text), &lists) != nil {
			return
		}
		found := map[string]*series{}
		for _, l := range lists {
			addPoints(found, l, 0, 4)
		}
		sorted := sortedSeries(found)
		stream := collect.NewStream(metric.SourceDatabase, func(frame metric.Frame) error {
			for _, p := range frame.Points {
				for _, l := range p.Series.Labels {
					if !utf8.ValidString(l.Key) || !utf8.ValidString(l.Value) {
						t.Errorf("%s", p.Series.Key())
					}
				}
				if p.Hist == nil && !(p.Value >= 0 && p.Value < 1e15) {
					t.Errorf("%s is %g", p.Series.Key(), p.Value)
				}
			}
			_, err := metric.Encode(frame)
			return err
		})
		sendFrames(loads{total: totalOf(sorted), waits: sorted, statements: sorted}, 0, 4, stream)
		if err := stream.Close(4); err != nil {
			t.Error(err)
		}
	})
}
