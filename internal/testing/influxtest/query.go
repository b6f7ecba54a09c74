package influxtest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"

	"assay.dev/assay/internal/servers/influxd"
)

// Series is one series of a query's result. Values are float64, string or nil; the
// first of a row is the time, in unix seconds.
type Series struct {
	Name    string            `json:"name"`
	Tags    map[string]string `json:"tags"`
	Columns []string          `json:"columns"`
	Values  [][]any           `json:"values"`
}

// Query returns the series that an InfluxQL query finds, in order. An error fails the
// test.
func (s *Server) Query(database, query string) []Series {
	s.t.Helper()
	form := url.Values{"q": {query}, "db": {database}, "epoch": {"s"}}
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.URL()+"/query?"+form.Encode(), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	req.SetBasicAuth(influxd.User, s.Password)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatalf("query %s: %v", query, err)
	}
	defer resp.Body.Close() // read only
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatalf("query %s: %v", query, err)
	}
	var parsed struct {
		Error   string `json:"error"`
		Results []struct {
			Error  string   `json:"error"`
			Series []Series `json:"series"`
		} `json:"results"`
	}
	if err := json.Unmarshal(body, &parsed); err != nil {
		s.t.Fatalf("query %s: %v: %s", query, err, body)
	}
	var all []Series
	for _, r := range parsed.Results {
		if r.Error != "" {
			s.t.Fatalf("query %s: %s", query, r.Error)
		}
		all = append(all, r.Series...)
	}
	if parsed.Error != "" {
		s.t.Fatalf("query %s: %s", query, parsed.Error)
	}
	return all
}

// Sum adds up the values that a query for one field finds, over all series and rows; n
// is their number.
func (s *Server) Sum(database, query string) (total float64, n int) {
	s.t.Helper()
	for _, series := range s.Query(database, query) {
		for _, row := range series.Values {
			if v, ok := row[1].(float64); ok {
				total += v
				n++
			}
		}
	}
	return total, n
}
