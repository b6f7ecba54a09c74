package service_test

import (
	"errors"
	"testing"

	"assay.dev/assay/internal/observe/collect/service"
)

func TestOnlyTargetHosts(t *testing.T) {
	for _, c := range []struct {
		url   string
		hosts []string
		ok    bool
	}{
		{"http://example.com/metrics", nil, false},
		{"http://example.com/metrics", []string{"example.org"}, false},
		{"ftp://127.0.0.1/metrics", nil, false},
		{"127.0.0.1:80/metrics", nil, false},
		{"http://127.0.0.1:1/metrics", nil, true},
		{"http://[::1]:1/metrics", nil, true},
		{"http://localhost:1/metrics", nil, true},
		{"http://service.invalid/metrics", []string{"service.invalid"}, true},
	} {
		err := service.New(c.url, c.hosts...).Start(t.Context())
		if tried := errors.Is(err, service.ErrAbsent); tried != c.ok {
			t.Errorf("%s, target %v: %v", c.url, c.hosts, err)
		}
	}
}
