package doctor

import (
	"strings"
	"testing"

	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/databasetest"
)

// A server whose answers cannot be read is examined nevertheless: each is an error.
func TestUnreadableDatabase(t *testing.T) {
	t.Parallel()
	address := databasetest.MySQLServer(t, "8.4.5", func(text string) [][]byte {
		switch {
		case strings.Contains(text, "CONNECTION_ID()"):
			return databasetest.Text(databasetest.Session, "8.4.5")
		case strings.Contains(text, "@@version_comment"), strings.Contains(text, "SELECT GET_LOCK"):
			return databasetest.Text("1")
		case strings.HasPrefix(text, "SET "), text == "": // a ping
			return nil
		}
		return [][]byte{{0xff}} // an error without a number
	})
	d := examineDatabase(t.Context(), "u:p@tcp("+address+")/shop", "a-run", []spec.Profile{
		{Name: "mini", Flows: []spec.Flow{{Ledger: &spec.Ledger{Persisted: "SELECT id, at FROM orders WHERE run_id = ?", Cleanup: []string{"DELETE FROM orders WHERE run_id = ?"}}}}},
	})
	if d.Err != nil || d.Version != "" || d.Limit != 0 || d.Clock.Known || d.Ledgers["mini"].Read == nil || d.WaitsErr == nil {
		t.Errorf("%+v", d)
	}
}
