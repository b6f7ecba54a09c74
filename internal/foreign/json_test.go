package foreign

import (
	"strings"
	"testing"
)

func TestDecodeJSON(t *testing.T) {
	t.Parallel()
	type document struct {
		A int   `json:"a"`
		B []int `json:"b"`
	}
	var d document
	if err := DecodeJSON([]byte(` {"a": 1, "b": [2, 3]} `+"\n"), 9, &d); err != nil || d.A != 1 || len(d.B) != 2 {
		t.Errorf("%+v, %v", d, err)
	}
	for text, want := range map[string]string{
		"":                                   "not a JSON document",
		"{":                                  "not a JSON document",
		`{"a": 1} {}`:                        "more after its end",
		`{"a": 1} x`:                         "not a JSON document",
		`{"a": 1, "a": 2}`:                   "duplicate",
		`{"a": 1, "c": 2}`:                   "unknown",
		`{"A": 1}`:                           "unknown",
		`{"a": 1, "A": 2}`:                   "unknown",
		`{"a": "1"}`:                         "cannot unmarshal",
		`{"b": [1, 2, 3, 4, 5, 6, 7, 8, 9]}`: "more than 9 values",
		strings.Repeat("[", 1_000_000):       "more than 9 values",
		"{\"a\": \xff}":                      "not a JSON document",
	} {
		if err := DecodeJSON([]byte(text), 9, &d); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.40s: %v, want %q", text, err, want)
		}
	}
	if err := CheckJSON([]byte(strings.Repeat("[", 60)+strings.Repeat("]", 60)), 1000); err == nil || !strings.Contains(err.Error(), "nested") {
		t.Errorf("nested: %v", err)
	}
}
