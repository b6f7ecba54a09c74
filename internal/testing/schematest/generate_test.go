package schematest

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Sample has a field of each kind.
type Sample struct {
	Schema  string         `json:"schema" jsonschema:"enum=assay/sample/v1"`
	Share   *float64       `json:"share" jsonschema:"minimum=0,maximum=1"` // null: no data
	Reason  *string        `json:"reason,omitempty" jsonschema:"minLength=1"`
	Later   int            `json:"later" jsonschema:"optional"` // added in a later version
	Final   bool           `json:"final" jsonschema:"const=false"`
	Pairs   [][2]int       `json:"pairs" jsonschema:"minimum=0"`
	Values  []*float64     `json:"values" jsonschema:"minItems=1"`
	ByName  map[string]Sub `json:"by_name" jsonschema:"requires=all"`
	Waits   []Sub          `json:"waits" jsonschema:"nullable"`
	Started time.Time      `json:"started"`
	Sub
	hidden int
}

// Sub is part of a Sample.
type Sub struct {
	Count uint64 `json:"count"`
	Kind  kind   `json:"kind" jsonschema:"enum=a,enum=b"`
}

type kind int

func (kind) MarshalText() ([]byte, error) { return []byte("a"), nil }

const valid = `{"schema": "assay/sample/v1", "share": null, "final": false, "pairs": [[0, 1]], "values": [1.5, null], "by_name": {"all": {"count": 1, "kind": "a"}},
	"waits": null, "started": "2026-11-20T12:00:00Z", "count": 0, "kind": "b"}`

func TestGenerate(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sample.schema.json")
	Check(t, file, Sample{hidden: 1}, Header{ID: "assay/sample/v1", Title: "Sample"}, true)
	schema := Compile(t, file)
	if text, err := os.ReadFile(file); err != nil {
		t.Fatal(err)
	} else if got := schema.Properties["share"].Description; got != "null: no data" {
		t.Errorf("a field's comment is %q in\n%s", got, text)
	}
	if got := schema.Properties["by_name"].AdditionalProperties; got == nil {
		t.Error("the values of a map are not described")
	}
	Validate(t, schema, []byte(valid))
	for what, change := range map[string]func(map[string]any){
		"a missing field":                func(m map[string]any) { delete(m, "share") },
		"a missing embedded field":       func(m map[string]any) { delete(m, "count") },
		"an unknown field":               func(m map[string]any) { m["more"] = 1 },
		"a wrong word":                   func(m map[string]any) { m["kind"] = "c" },
		"a number out of range":          func(m map[string]any) { m["share"] = 2 },
		"null for a non-nullable field":  func(m map[string]any) { m["pairs"] = nil },
		"null for an optional field":     func(m map[string]any) { m["reason"] = nil },
		"another constant":               func(m map[string]any) { m["final"] = true },
		"a number in an array of arrays": func(m map[string]any) { m["pairs"] = []any{[]any{-1, 0}} },
		"a pair of three":                func(m map[string]any) { m["pairs"] = []any{[]any{1, 2, 3}} },
		"an empty array":                 func(m map[string]any) { m["values"] = []any{} },
		"a map without its key":          func(m map[string]any) { m["by_name"] = map[string]any{} },
		"a negative unsigned number":     func(m map[string]any) { m["count"] = -1 },
		"an invalid time":                func(m map[string]any) { m["started"] = "noon" },
	} {
		m, ok := parse(t, []byte(valid)).(map[string]any)
		if !ok {
			t.Fatal("the sample is not an object")
		}
		change(m)
		if schema.Validate(m) == nil {
			t.Errorf("%s is accepted", what)
		}
	}
}
