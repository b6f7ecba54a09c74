// SPDX-License-Identifier: Apache-2.0

package document

import "reflect"

// Rounded is a copy of a value in which each number that a pointer leads to, at any depth, is
// rounded. Numbers that stand in a struct by themselves are as they were: they were chosen,
// not measured.
func Rounded[T any](v T) T {
	roundAll(reflect.ValueOf(&v).Elem())
	return v
}

// roundAll rounds in a shallow copy; what it leads to is copied first.
func roundAll(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return
		}
		c := reflect.New(v.Type().Elem())
		c.Elem().Set(v.Elem())
		v.Set(c)
		if c = c.Elem(); c.Kind() == reflect.Float64 {
			c.SetFloat(Round(c.Float()))
			return
		}
		roundAll(c)
	case reflect.Slice:
		if v.IsNil() {
			return
		}
		c := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(c, v)
		v.Set(c)
		for i := range v.Len() {
			roundAll(v.Index(i))
		}
	case reflect.Map:
		if v.IsNil() {
			return
		}
		c := reflect.MakeMapWithSize(v.Type(), v.Len())
		for key, value := range v.Seq2() {
			rounded := reflect.New(v.Type().Elem()).Elem()
			rounded.Set(value)
			roundAll(rounded)
			c.SetMapIndex(key, rounded)
		}
		v.Set(c)
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				roundAll(f)
			}
		}
	}
}
