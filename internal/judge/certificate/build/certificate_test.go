package build

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/testing/goldentest"
	"assay.dev/assay/internal/testing/schematest"
	"assay.dev/assay/internal/testing/synthetic"
)

const schemaFile = "../../../../certificate/certificate.schema.json"

func TestGolden(t *testing.T) {
	schema := schematest.Compile(t, schemaFile)
	for name, r := range synthetic.Examples() {
		t.Run(name, func(t *testing.T) {
			c := Of(r)
			data, err := certificate.Marshal(c)
			if err != nil {
				t.Fatal(err)
			}
			goldentest.Compare(t, name+".json", data)
			schematest.Validate(t, schema, data)
		})
	}
}

// The schema describes each field that Marshal writes, and requires them all.
func TestSchemaRequiresEveryField(t *testing.T) {
	schema := schematest.Compile(t, schemaFile)
	data, err := certificate.Marshal(Of(synthetic.Examples()["pass"]))
	if err != nil {
		t.Fatal(err)
	}
	var c map[string]any
	if err := json.Unmarshal(data, &c); err != nil {
		t.Fatal(err)
	}
	for field := range c {
		if schema.Properties[field] == nil {
			t.Errorf("the schema does not know %s", field)
		}
		less := map[string]any{}
		for k, v := range c {
			if k != field {
				less[k] = v
			}
		}
		if field != "judged_by" && field != "left_out" && schema.Validate(less) == nil { // which builds before 0.2.0 leave out
			t.Errorf("a certificate without %s is accepted", field)
		}
	}
}

func TestRounding(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		v, limit := rapid.Float64().Draw(rt, "value"), rapid.Float64().Draw(rt, "limit")
		short := *roundNear(&v, limit)
		if (short < limit) != (v < limit) || (short > limit) != (v > limit) {
			rt.Errorf("%g becomes %g, the limit is %g", v, short, limit)
		}
	})
	v := 0.0100000001
	if got := *roundNear(&v, 0.01); got != v {
		t.Errorf("%v is shown as %v, the limit is 0.01", v, got)
	}
	if roundNear(nil, 1) != nil {
		t.Error("no data becomes a number")
	}
}
