package otlp

import (
	"strings"
	"testing"
)

func TestCheckURL(t *testing.T) {
	for url, want := range map[string]string{
		"http://127.0.0.1:4318":       "",
		"https://collector.test/otlp": "",
		"":                            "want a URL",
		"127.0.0.1:4318":              "want a URL",
		"localhost:4318":              "want a URL",
		"http://":                     "want a URL",
		"grpc://127.0.0.1:4317":       "want a URL",
		"http://u:hunter2@127.0.0.1":  "OTEL_EXPORTER_OTLP_HEADERS",
		"http://u:hunter2@%zz":        "want a URL",
	} {
		err := CheckURL(url)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", url, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: the password is shown: %v", url, err)
		}
	}
}
