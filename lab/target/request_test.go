package target

import (
	"net/url"
	"strings"
	"testing"
)

const validPayment = `{"id":"p-1","run_id":"r","idempotency_key":"k","mode":"upi","amount":100,"account":1}`

func TestParsePayment(t *testing.T) {
	long := strings.Repeat("x", 65)
	for name, tc := range map[string]struct {
		old, new string // replaced in validPayment
		want     string // part of the error; "" = accepted
	}{
		"valid":            {"", "", ""},
		"generated id":     {`"id":"p-1",`, ``, ""},
		"every mode":       {"upi", "netbanking", ""},
		"last account":     {`"account":1`, `"account":10000`, ""},
		"unknown field":    {`"id"`, `"colour":1,"id"`, "colour"},
		"long id":          {"p-1", long, "id: want 1 to 64"},
		"id with a quote":  {"p-1", "p'1", "id: want letters"},
		"id with a letter": {"p-1", "é", "id: want letters"},
		"no run":           {`"run_id":"r"`, `"run_id":""`, "run_id: want 1 to 64"},
		"no key":           {`"k"`, `""`, "idempotency_key: want 1 to 64"},
		"unknown mode":     {"upi", "cash", "mode: want upi"},
		"no amount":        {"100", "0", "amount: want 1"},
		"negative amount":  {"100", "-1", "amount: want 1"},
		"huge amount":      {"100", "1000000000001", "amount: want 1"},
		"fraction":         {"100", "1.5", "body:"},
		"no account":       {`"account":1`, `"account":0`, "account: want 1 to 10000"},
		"unknown account":  {`"account":1`, `"account":10001`, "account: want 1 to 10000"},
		"two values":       {"}", "} {}", "more than one"},
		"not JSON":         {"{", "", "body:"},
		"no body":          {validPayment, "", "body:"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := parsePayment(strings.NewReader(strings.Replace(validPayment, tc.old, tc.new, 1)))
			checkRefusal(t, err, tc.want)
			if err == nil && p.ID == "" {
				t.Error("no id")
			}
		})
	}
}

func TestParseEvent(t *testing.T) {
	for query, want := range map[string]string{
		"name=hoge&value=1":                             "",
		"name=hoge&value=-1.5e3&id=e&run_id=r":          "",
		"name=%E6%97%A5%E6%9C%AC&value=1":               "",
		"name=hoge":                                     "value: want a number",
		"name=hoge&value=":                              "value: want a number",
		"name=hoge&value=NaN":                           "value: want a finite",
		"name=hoge&value=Inf":                           "value: want a finite",
		"name=hoge&value=1e999":                         "value: want a number",
		"value=1":                                       "name: want 1 to 128",
		"name=" + strings.Repeat("x", 129) + "&value=1": "name: want 1 to 128",
		"name=%ff&value=1":                              "name: want 1 to 128",
		"name=hoge&value=1&value=2":                     "value: given twice",
		"name=hoge&value=1&debug=1":                     `"debug": unknown parameter`,
		"name=hoge&value=1&id=a%20b":                    "id: want letters",
		"name=hoge&value=1&run_id=%27":                  "run_id: want letters",
	} {
		t.Run(query, func(t *testing.T) {
			q, err := url.ParseQuery(query)
			if err != nil {
				t.Fatal(err)
			}
			e, err := parseEventQuery(q)
			checkRefusal(t, err, want)
			if err == nil && e.ID == "" {
				t.Error("no id")
			}
		})
	}
	for body, want := range map[string]string{
		`{"id":"e","run_id":"r","name":"hoge","value":1}`: "",
		`{"name":"hoge","value":1}`:                       "",
		`{"name":"hoge","value":"1"}`:                     "body:",
		`{"name":"","value":1}`:                           "name: want 1 to 128",
		`[]`:                                              "body:",
	} {
		t.Run(body, func(t *testing.T) {
			_, err := parseEventBody(strings.NewReader(body))
			checkRefusal(t, err, want)
		})
	}
}

func checkRefusal(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Fatal(err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Fatalf("error %v, want %q in it", err, want)
	case err != nil && strings.Contains(err.Error(), "\n"):
		t.Fatalf("error of several lines: %q", err)
	}
}

// Every accepted request fits its columns.
func FuzzParsePayment(f *testing.F) {
	f.Add(validPayment)
	f.Add(`{"id":null,"amount":1e3}`)
	f.Fuzz(func(t *testing.T, body string) {
		p, err := parsePayment(strings.NewReader(body))
		if err != nil {
			return
		}
		for _, id := range []string{p.ID, p.RunID, p.IdempotencyKey} {
			if len(id) == 0 || len(id) > 64 || strings.ContainsAny(id, "'\"\\ \x00") {
				t.Errorf("accepted identifier %q", id)
			}
		}
		if p.Amount <= 0 || p.Account == 0 || p.Account > Accounts {
			t.Errorf("accepted amount %d, account %d", p.Amount, p.Account)
		}
	})
}

func FuzzParseEvent(f *testing.F) {
	f.Add("name=hoge&value=1&id=e&run_id=r")
	f.Fuzz(func(t *testing.T, query string) {
		q, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		e, err := parseEventQuery(q)
		if err == nil && (len(e.ID) == 0 || len(e.ID) > 64 || len(e.RunID) > 64 || len(e.Name) == 0 || e.Value != e.Value) {
			t.Errorf("accepted %+v", e)
		}
	})
}
