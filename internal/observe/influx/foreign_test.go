package influx

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzErrorMessage: whatever a server answers, its message is a short line.
func FuzzErrorMessage(f *testing.F) {
	f.Add([]byte(`{"error":"database not found: \"assay\""}`))
	f.Add([]byte(`{"results":[{"error":"a\nb"}]}`))
	f.Add([]byte(`{"message":"` + strings.Repeat("é", 200) + `"}`))
	f.Add([]byte("<html>\x00\xff\r\n\u202e</html>"))
	f.Add([]byte(strings.Repeat("[", 20000)))
	f.Fuzz(func(t *testing.T, body []byte) {
		if text := errorMessage(body); len(text) > maxMessage || strings.ContainsAny(text, "\r\n") || !utf8.ValidString(text) {
			t.Errorf("%q", text)
		}
	})
}
