// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"cmp"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// fill decodes a value of the file into a variable, as encoding/json would, with durations as
// texts, and a single value for a list of one. What the file does not hold stays as it is, and
// so does what is reported as wrong. The key of a field is that in records without "_ns", or
// the field's name.
func (r *reader) fill(n *node, to any) { r.fillValue(n, reflect.ValueOf(to).Elem()) }

func (r *reader) fillValue(n *node, to reflect.Value) {
	if n == nil || n.bad {
		return
	}
	switch kind := to.Kind(); {
	case to.Type() == reflect.TypeFor[json.RawMessage]():
		text := rawText(n, r.data)
		if text.Compact() == nil { // the file has been parsed
			to.SetBytes(text)
		}
	case kind == reflect.Pointer:
		to.Set(reflect.New(to.Type().Elem()))
		r.fillValue(n, to.Elem())
	case kind == reflect.Slice:
		elements := []*node{n}
		if n.kind == jsontext.KindBeginArray {
			elements = n.children
		}
		to.Set(reflect.MakeSlice(to.Type(), len(elements), len(elements)))
		for i, c := range elements {
			r.fillValue(c, to.Index(i))
		}
	case kind == reflect.Struct && n.kind == jsontext.KindBeginObject:
		for i := range to.NumField() {
			key := keyOf(to.Type().Field(i))
			r.fillValue(cmp.Or(n.get(key), n.get(strings.ReplaceAll(key, "_", "-"))), to.Field(i))
		}
	case kind == reflect.Map && n.kind == jsontext.KindBeginObject:
		to.Set(reflect.MakeMap(to.Type()))
		for _, c := range n.children {
			v := reflect.New(to.Type().Elem()).Elem()
			r.fillValue(c, v)
			to.SetMapIndex(reflect.ValueOf(c.name), v)
		}
	case kind == reflect.Bool:
		to.SetBool(n.kind == jsontext.KindTrue)
	case kind == reflect.String && n.kind == jsontext.KindString:
		to.SetString(n.text)
	case to.Type() == reflect.TypeFor[time.Duration]():
		d, _ := time.ParseDuration(n.text)
		to.SetInt(int64(d))
	case n.kind == jsontext.KindNumber:
		v, _ := strconv.ParseFloat(n.text, 64)
		if number := reflect.ValueOf(v); number.CanConvert(to.Type()) {
			to.Set(number.Convert(to.Type()))
		}
	}
}

// keyOf is the key of a field.
func keyOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if name == "" || name == "-" {
		return strings.ToLower(f.Name)
	}
	return strings.TrimSuffix(name, "_ns")
}
