package pi

import (
	"testing"

	"assay.dev/assay/internal/observe/metric"
)

// Whatever the API leaves in a text that it has normalised.
func TestNoLiterals(t *testing.T) {
	all := statementParts(loads{total: map[int64]float64{0: 1}, statements: []series{{
		dimensions: map[string]string{"db.sql_tokenized.id": "1", "db.sql_tokenized.statement": "ALTER ROLE bob PASSWORD 'hunter2'"},
		load:       map[int64]float64{0: 1},
	}}})
	want := metric.Of(metric.DBStatementTime, "digest", "1", "statement", "ALTER ROLE bob PASSWORD ?")
	for _, p := range all {
		if p.key == want.Key() {
			return
		}
	}
	t.Errorf("%v, want %s", all, want.Key())
}
