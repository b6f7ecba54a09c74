package logfile

import (
	"bytes"
	"testing"
)

// FuzzRead: any bytes, also compressed ones, are a log or an error.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`192.0.2.7 - - [18/May/2024:19:42:07 +0530] "GET /a/b?c=d HTTP/1.1" 200 5316` + "\n"))
	f.Add([]byte("\x1f\x8b"))
	f.Add([]byte("{\"time\":\"2024-05-18T19:42:07Z\",\"method\":\"GET\",\"path\":\"/a\",\"status\":200}\r\n\r\n{"))
	f.Fuzz(func(t *testing.T, log []byte) {
		inputs, tally, err := Read(t.Context(), []string{Stdin}, Options{Stdin: bytes.NewReader(log)})
		if err == nil && (tally == nil || len(inputs) != 1 || inputs[0].understood() > inputs[0].Lines) {
			t.Errorf("%+v", inputs)
		}
	})
}

// A parser that panics fails the reading, not the process.
func TestPanicOfAParser(t *testing.T) {
	t.Parallel()
	if err := new(block).parse(); err == nil {
		t.Error("a block without a source was parsed: this test tests nothing")
	}
}
